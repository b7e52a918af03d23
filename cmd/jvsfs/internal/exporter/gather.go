package exporter

import (
	"context"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
)

// Gatherer is a metrics.Source of all mounts. Safe for concurrent use.
type Gatherer struct {
	ctx    context.Context
	mounts func() (host.MountTable, error)
	ask    func(context.Context, *mountinfo.Info) (string, error)
}

// New makes a gatherer. When ctx ends, it asks nobody any more: Gather has no context of its own.
func New(ctx context.Context) *Gatherer {
	return &Gatherer{ctx: ctx, mounts: host.ReadMounts, ask: askMetrics}
}

// askMetrics asks a daemon for its metrics.
func askMetrics(ctx context.Context, m *mountinfo.Info) (string, error) {
	a, err := client.AskFor[api.MetricsText](ctx, m, api.Metrics{}, nil)
	return a.Text, err
}

// seen is one mount in one scrape.
type seen struct {
	mountpoint string
	state      string
	took       time.Duration
	families   map[string]*metrics.Family // nil: its daemon has not told
}

// Gather asks all daemons at the same time, each within client.StatusTimeout: a stopped one holds up nobody else.
func (g *Gatherer) Gather() ([]*metrics.Family, error) {
	table, err := g.mounts()
	if err != nil {
		return nil, err
	}
	mounts := distinct(table)
	all := make([]seen, len(mounts))
	var run sync.WaitGroup
	for i, m := range mounts {
		run.Go(func() { all[i] = g.look(m) })
	}
	run.Wait()
	return merged(all)
}

// look asks one daemon. It never fails: what went wrong is the state of the mount.
func (g *Gatherer) look(m *mountinfo.Info) seen {
	ctx, cancel := context.WithTimeout(g.ctx, client.StatusTimeout)
	defer cancel()
	s, begun := seen{mountpoint: label(m.Mountpoint), state: serving}, time.Now()
	text, err := g.ask(ctx, m)
	if err == nil {
		s.families, err = parse(text)
	}
	if err != nil {
		s.state = stateOf(err)
	}
	s.took = time.Since(begun)
	return s
}

// distinct has each daemon once, by the mount at which people find it: two mounts of one daemon would count
// everything twice. Of mounts on top of each other, the lower ones are left out; one of them is being replaced.
func distinct(table host.MountTable) (out []*mountinfo.Info) {
	devices, points := map[api.Device]bool{}, map[string]bool{}
	for _, wanted := range []func(*mountinfo.Info) bool{
		func(m *mountinfo.Info) bool { return m.Root == "/" && table.At(m.Mountpoint) == m },
		func(*mountinfo.Info) bool { return true },
	} {
		for _, m := range table.JVSFS() {
			if d, p := host.DeviceOf(m), label(m.Mountpoint); wanted(m) && !devices[d] && !points[p] {
				devices[d], points[p] = true, true
				out = append(out, m)
			}
		}
	}
	return out
}
