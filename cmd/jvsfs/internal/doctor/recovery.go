package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/lease"
)

// checkStates looks for the state of daemons that have ended and whose mounts are gone. It looks twice. A
// running recovery leaves such state for a moment, so the second look takes the lock of recoveries.
func checkStates(ctx context.Context, fix lockdir.Repair) []finding.Finding {
	if os.Geteuid() != 0 || len(strayStates()) == 0 { // only root can read them
		return nil
	}
	lock, err := recovery.Lock(ctx)
	if err != nil {
		return []finding.Finding{finding.Warn("run.unchecked", "jvsfs status; then jvsfs doctor again", "what mounts that are gone have left was not looked at: %v", err)}
	}
	defer host.CloseFile(lock)
	var out []finding.Finding
	for _, s := range strayStates() {
		out = append(out, s.finding(fix))
	}
	return out
}

// strayState is a state file whose mount is gone.
type strayState struct {
	path       string
	dev        api.Device
	unreadable error // nil: it names a process that has ended
}

func strayStates() []strayState {
	paths, _ := filepath.Glob(filepath.Join(host.EscapeGlob(host.RunDir()), "dev-*-*.state")) // the pattern is well-formed
	var out []strayState
	for _, path := range paths {
		s := strayState{path: path}
		if _, err := fmt.Sscanf(filepath.Base(path), "dev-%d-%d.state", &s.dev.Major, &s.dev.Minor); err != nil {
			continue
		}
		var st *host.MountState
		st, s.unreadable = host.ReadMountState(s.dev)
		switch {
		case errors.Is(s.unreadable, os.ErrNotExist):
			continue // it has just gone
		case s.unreadable == nil && st.Daemon.Liveness() != lease.Gone:
			continue // it serves, is about to, or cannot be seen from here
		}
		// Mount tables do not tell: nobody sees that of a namespace without a process, and a descriptor alone
		// can keep a mount.
		if there, err := fusefs.Connected(s.dev.Major, s.dev.Minor); there || err != nil {
			continue
		}
		out = append(out, s)
	}
	return out
}

// finding reports it. It is safe to remove a file of an earlier boot, and a file of this boot whose process has
// ended. A file that cannot be read may be of any process.
func (s strayState) finding(fix lockdir.Repair) finding.Finding {
	switch {
	case s.unreadable != nil:
		return finding.Warn("run.state", "look at it, then remove it", "%s is of a mount that is gone, and cannot be read: %v", s.path, s.unreadable)
	case !fix.Safe:
		return finding.Warn("run.state", "jvsfs doctor --repair", "%s describes a mount that is gone", s.path)
	}
	if err := host.ForgetMount(s.dev); err != nil {
		return finding.Fail("repair.failed", "run doctor as root", "%v", err)
	}
	return finding.OK("repair.done", "%s: removed: its daemon has ended, and its mount is gone", s.path)
}
