package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

// statusAnswer is a part of what `status --json` prints: without the statistics, which fill a model's context.
type statusAnswer struct {
	Mounts []api.MountStatus `json:"mounts"`
}

func (s *server) status(ctx context.Context, _ call, in statusArgs) (answer, error) {
	var mounts []*mountinfo.Info
	if in.Path != "" {
		t, err := find(ctx, in.Path)
		if err != nil {
			return answer{}, err
		}
		mounts = append(mounts, t.Mount)
	} else {
		table, err := host.ReadMounts()
		if err != nil {
			return answer{}, err
		}
		mounts = table.JVSFS()
	}
	all := client.StatusOfAll(ctx, mounts)
	for i := range all {
		all[i].Statistics = nil
	}
	return answer{s.statusText(all), statusAnswer{all}}, nil
}

func (s *server) statusText(all []api.MountStatus) string {
	if len(all) == 0 {
		return "no jvsfs mounts"
	}
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s: %s %s %s\n", human.Printable(m.Mountpoint), m.State, m.Enforce, human.Printable(m.Detail))
		if m.Next != "" {
			fmt.Fprintf(&b, "  next: %s\n", human.Printable(m.Next))
		}
		for _, w := range m.Worktrees {
			fmt.Fprintf(&b, "  worktree %s: %s\n", human.Printable(string(w.Worktree)), s.holderText(w))
		}
	}
	return strings.TrimSpace(b.String())
}

func (s *server) holderText(w gate.Status) string {
	if w.HolderID == "" {
		return w.State
	}
	text := fmt.Sprintf("%s by %s", w.State, human.Printable(w.HolderID))
	if w.Purpose != "" {
		text += " for " + human.Printable(w.Purpose)
	}
	if slices.Contains(s.taken.holders(), w.HolderID) {
		text += " (that is you)"
	}
	return fmt.Sprintf("%s, token %d", text, w.Token)
}
