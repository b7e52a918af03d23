package mount

import (
	"cmp"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/mountcfg"
)

type mountCommand struct {
	asJSON     bool
	io         console.Streams
	started    sibling.Start // for the complete program
	settings   flags.Settings
	foreground bool
	background bool // this process is the daemon that another one waits for
	recover    bool
	replace    bool
	forRuns    bool               // jvsfs run mounts: the mount goes with the last of its runs
	strict     bool               // a process beneath is an error
	tries      int                // of successors before this one (daemon.StartSuccessor), 0 for none
	state      string             // the device whose daemon left the configuration, "" for none
	recovery   *recovery.Recovery // what prepare has found
}

// Mounted is what `mount --json` prints; the names are those of `status --json`.
type Mounted struct {
	Mountpoint string      `json:"mountpoint"`
	Source     string      `json:"source"`
	Shape      api.Shape   `json:"shape"`
	Layout     layout.Name `json:"layout"`
	Locks      string      `json:"locks"`
	Local      bool        `json:"local,omitempty"`
	Hidden     []string    `json:"hidden,omitempty"`    // mounts inside of the source that are no part of it
	Elsewhere  []string    `json:"elsewhere,omitempty"` // worktrees of its git repository that do not lie in it

	Beneath []api.BusyEntry `json:"beneath,omitempty"` // the processes in the directory that the mount covers
}

func mountedOf(cfg mountcfg.Config, p place.Place) Mounted {
	return Mounted{Mountpoint: cmp.Or(cfg.Mountpoint, p.Root), Source: p.Root, Shape: p.Shape, Layout: p.Layout, Locks: p.LockDir, Local: p.Local, Elsewhere: p.CheckoutsElsewhere()}
}
