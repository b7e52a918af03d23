package refusals

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Located is a refusal with where it happened; the JSON names are a promise.
type Located struct {
	api.RefusalView
	Mountpoint string `json:"mountpoint"`
	Path       string `json:"path"` // of the worktree
}

// Answer is what one mount answered about recent refusals.
type Answer struct {
	Refusals   []Located
	Worktrees  []api.Explanation
	Incomplete bool
	Err        error
}

// Ask asks the daemons of mounts at the same time, each for at most limit.
func Ask(ctx context.Context, mounts []*mountinfo.Info, limit time.Duration, req func(*mountinfo.Info) api.Refusals) []Answer {
	all := make([]Answer, len(mounts))
	var run sync.WaitGroup
	for i, m := range mounts {
		run.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			all[i] = askOne(ctx, m, req(m))
		})
	}
	run.Wait()
	return all
}

func askOne(ctx context.Context, m *mountinfo.Info, req api.Refusals) Answer {
	pidfd := pidfdFor(req)
	defer host.CloseFile(pidfd)
	answer, err := client.AskFor[api.RefusalAnswer](ctx, m, req, pidfd)
	if err != nil {
		return Answer{Err: err}
	}
	a := Answer{Incomplete: answer.Incomplete}
	for _, v := range answer.Refusals {
		a.Refusals = append(a.Refusals, Located{v, m.Mountpoint, answer.Paths[v.Worktree]})
	}
	for _, x := range answer.Worktrees {
		a.Worktrees = append(a.Worktrees, api.Explanation{Explanation: x, Mounted: true, Mountpoint: m.Mountpoint})
	}
	return a
}

// pidfdFor pins the process that a request names, unless it has ended.
func pidfdFor(req api.Refusals) *os.File {
	if req.PID == 0 || req.Start != 0 {
		return nil
	}
	fd, err := process.OpenPidfd(req.PID)
	if err != nil {
		return nil
	}
	if !process.PidfdAlive(fd) {
		host.CloseFile(fd)
		return nil
	}
	return fd
}

// Summary is what processes of one command were refused in one worktree.
type Summary struct {
	Located        // the latest of them
	Total   uint64 // how many there were
}

// Summarise adds up the refusals of a command for the same reason in the same worktree, over all its processes.
// The latest comes last.
func Summarise(refusals []Located) []Summary {
	type key struct {
		command, path, class string
		pid                  int // of one without a name
		observed             bool
	}
	seen := map[key]int{}
	var out []Summary
	for _, r := range refusals {
		k := key{command: r.Command, path: r.Path, class: r.Class, observed: r.WouldRefuse}
		if r.Command == "" {
			k.pid = r.PID
		}
		i, known := seen[k]
		if !known {
			i = len(out)
			seen[k] = i
			out = append(out, Summary{Located: r})
		}
		out[i].Total += r.Count
		if !r.At.Before(out[i].At) {
			out[i].Located = r
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].At.Before(out[j].At) })
	return out
}

// Actual leaves out writes that passed because the mount only observes.
func Actual(all []Summary) []Summary {
	return slices.DeleteFunc(slices.Clone(all), func(s Summary) bool { return s.WouldRefuse })
}

// Text is the summary as the beginning of a sentence: "3 writes of make were refused
// in /srv/repo/worktrees/b".
func (s Summary) Text() string {
	writes, were := "writes", "were"
	if s.Total == 1 {
		writes, were = "write", "was"
	}
	verb := were + " refused"
	if s.WouldRefuse {
		verb = "would have been refused"
	}
	return fmt.Sprintf("%d %s of %s %s in %s", s.Total, writes, s.who(), verb, human.Printable(s.Path))
}

func (s Summary) who() string {
	switch {
	case s.PID == 0:
		return "a process that the mount's daemon cannot see"
	case s.Command == "":
		return fmt.Sprintf("process %d", s.PID)
	}
	return human.Printable(s.Command)
}
