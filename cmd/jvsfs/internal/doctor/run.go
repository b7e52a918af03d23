package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/gate/process"
)

// checkRun looks for leftovers of former mounts: sockets and state files in the directory of the control
// sockets, and guardians.
func checkRun(mounts host.MountTable, others []host.MountNamespace, fix lockdir.Repair) []finding.Finding {
	mounted := map[api.Device]bool{}
	for _, table := range append([]host.MountTable{mounts}, tablesOf(others)...) {
		for _, m := range table.JVSFS() {
			mounted[host.DeviceOf(m)] = true
		}
	}
	files, out := runFiles(host.RunDir(), mounted)
	for _, f := range abandoned(files, mounted, time.Now()) {
		out = append(out, f.finding(fix))
	}
	return append(out, guardianFindings(findGuardians())...)
}

func tablesOf(all []host.MountNamespace) []host.MountTable {
	out := make([]host.MountTable, 0, len(all))
	for _, ns := range all {
		out = append(out, ns.Table)
	}
	return out
}

// runFile is a file that is named after the device of a mount.
type runFile struct {
	path   string
	dev    api.Device
	socket bool
	heard  bool // somebody listens there; not tried if the mount exists
	at     time.Time
}

func runFiles(dir string, mounted map[api.Device]bool) ([]runFile, []finding.Finding) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return nil, nil // nothing was mounted since the machine started
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		if host.ByUser() {
			return nil, []finding.Finding{finding.Fail("run.foreign", "chmod 700 "+dir+", or set XDG_RUNTIME_DIR to a directory of your own", "%s is not a directory that only you write to", dir)}
		}
		return nil, []finding.Finding{finding.Fail("run.foreign", "chown root "+dir+"; chmod 755 "+dir+"; then look at what is in it",
			"%s is not a directory that only root writes to", dir)}
	}
	entries, _ := os.ReadDir(dir) // readable by everybody
	var out []runFile
	for _, e := range entries {
		f := runFile{path: filepath.Join(dir, e.Name())}
		var suffix string
		if _, err := fmt.Sscanf(e.Name(), "dev-%d-%d.%s", &f.dev.Major, &f.dev.Minor, &suffix); err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		f.socket, f.at = info.Mode()&os.ModeSocket != 0, info.ModTime()
		f.heard = f.socket && !mounted[f.dev] && listens(f.path)
		out = append(out, f)
	}
	return out, nil
}

// listens reports whether somebody may be listening. Only a refused connection proves that nobody is.
func listens(socket string) bool {
	c, err := net.DialTimeout("unix", socket, client.StatusTimeout)
	if err == nil {
		_ = c.Close() // nothing was said
	}
	return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ENOENT)
}

// abandoned are the files that no mount and no daemon uses. A young one may belong to a mount that is being
// made.
func abandoned(files []runFile, mounted map[api.Device]bool, now time.Time) []runFile {
	spoken := map[api.Device]bool{} // somebody listens, or a state file explains it
	for _, f := range files {
		spoken[f.dev] = spoken[f.dev] || f.heard || filepath.Ext(f.path) == ".state"
	}
	return slices.DeleteFunc(slices.Clone(files), func(f runFile) bool {
		return mounted[f.dev] || spoken[f.dev] || now.Sub(f.at) < lockdir.LeftoverAge
	})
}

// finding reports an abandoned file. A socket without a listener has no content, so --repair removes it.
func (f runFile) finding(fix lockdir.Repair) finding.Finding {
	switch {
	case !f.socket:
		return finding.Warn("run.state", "look at it, then remove it", "%s describes a mount that is gone", f.path)
	case !fix.Safe:
		return finding.Warn("run.socket", "jvsfs doctor --repair", "%s is the socket of a mount that is gone", f.path)
	}
	if err := os.Remove(f.path); err != nil {
		return finding.Fail("repair.failed", "run doctor as root", "%v", err)
	}
	return finding.OK("repair.done", "%s: removed: nobody listens there, and its mount is gone", f.path)
}

// guardianFact is a guardian process and whether a daemon is its parent.
type guardianFact struct {
	pid      int
	orphaned bool
}

// findGuardians looks for the guardians of daemons. The kernel signals the end of a daemon to its guardian. So
// a guardian without a daemon is stuck.
func findGuardians() []guardianFact {
	var out []guardianFact
	for _, pid := range process.All() {
		if !isGuardian(pid) {
			continue
		}
		st, err := process.ReadStat(pid)
		if err != nil || st.State == 'Z' {
			continue
		}
		parent, _ := process.Executable(st.PPID)
		own, _ := process.Executable(pid)
		out = append(out, guardianFact{pid, parent != own || isGuardian(st.PPID)})
	}
	return out
}

// isGuardian recognises a guardian by its only argument and the name of its binary.
func isGuardian(pid int) bool {
	args, err := process.Arguments(pid)
	return err == nil && len(args) == 2 && args[1] == api.GuardianName && filepath.Base(args[0]) == "jvsfs"
}

func guardianFindings(all []guardianFact) []finding.Finding {
	var out []finding.Finding
	for _, g := range all {
		if g.orphaned {
			out = append(out, finding.Warn("run.guardian", fmt.Sprintf("kill -KILL %d", g.pid), "process %d is the guardian of a daemon that is gone", g.pid))
		}
	}
	return out
}
