package top

import (
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// rates are events per second.
type rates struct {
	Operations, Refusals []float64 // of the whole machine, oldest first
	Mounts               map[string]mountRates
}

// mountRates are the rates of one mount.
type mountRates struct {
	Operations, Refusals float64
	Worktrees            map[lease.WorktreeID]worktreeRates
}

type worktreeRates struct{ Writes, Refusals float64 }

// ratesKept is how many looks back rates go.
const ratesKept = 120

// next returns the rates after one more look. A daemon that is new, or was restarted, has none until the second
// look.
func (r rates) next(before, now snapshot) rates {
	span := now.At.Sub(before.At)
	out := rates{Mounts: map[string]mountRates{}}
	operations, refusals := 0.0, 0.0
	for _, m := range now.Mounts {
		old := sameMount(before.Mounts, m)
		if old == nil || span <= 0 {
			continue
		}
		one := ratesOf(*old, m, span)
		out.Mounts[m.Mountpoint] = one
		operations += one.Operations
		refusals += one.Refusals
	}
	out.Operations, out.Refusals = r.Operations, r.Refusals
	if !before.At.IsZero() {
		out.Operations, out.Refusals = keep(r.Operations, operations), keep(r.Refusals, refusals)
	}
	return out
}

// keep appends to a copy and lets the oldest go.
func keep(past []float64, v float64) []float64 {
	past = append(past[:len(past):len(past)], v)
	return past[max(0, len(past)-ratesKept):]
}

// sameMount finds the same run of the same daemon, nil for none.
func sameMount(mounts []api.MountStatus, m api.MountStatus) *api.MountStatus {
	for i := range mounts {
		o := &mounts[i]
		if o.Mountpoint == m.Mountpoint && o.Device == m.Device && o.State == "serving" && m.State == "serving" &&
			o.Since != nil && m.Since != nil && o.Since.Equal(*m.Since) {
			return o
		}
	}
	return nil
}

func ratesOf(old, now api.MountStatus, span time.Duration) mountRates {
	r := mountRates{
		Operations: perSecond(requestsOf(old), requestsOf(now), span),
		Refusals:   perSecond(refusalsOf(old), refusalsOf(now), span),
		Worktrees:  map[lease.WorktreeID]worktreeRates{},
	}
	for _, w := range now.Worktrees {
		var writes, refusals uint64 // a new worktree began at zero
		for _, o := range old.Worktrees {
			if o.Worktree == w.Worktree {
				writes, refusals = o.Writes, o.Refusals+o.WouldRefuse
			}
		}
		r.Worktrees[w.Worktree] = worktreeRates{perSecond(writes, w.Writes, span), perSecond(refusals, w.Refusals+w.WouldRefuse, span)}
	}
	return r
}

func perSecond(before, now uint64, span time.Duration) float64 {
	if now < before {
		return 0
	}
	return float64(now-before) / span.Seconds()
}
