package journal

import (
	"path/filepath"
	"slices"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// LedBy is the journal of the daemon that leads the process who, which successor has replaced at the mount by. It is empty if there is none.
func LedBy(who host.ProcessState, by api.Device, successor host.ProcessState) File {
	f, err := Read(by)
	if err == nil && f.Daemon == successor {
		return f.ofLiving()
	}
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(host.LeasesPath(by)), "dev-*.leases")) // fails only for a bad pattern
	for _, path := range others {
		if f, err := ReadAt(path); err == nil && slices.Contains(f.Instead, who) && f.Daemon.Liveness() != lease.Gone {
			return f
		}
	}
	return File{}
}

// ofLiving is f, or nothing if its daemon has ended.
func (f File) ofLiving() File {
	if f.Daemon.Liveness() == lease.Gone {
		return File{}
	}
	return f
}
