package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
)

// checkPast looks for ways past an in-place mount, to the directory below it: another mount, another namespace,
// or a process from before. A mount at a place of its own leaves its source visible on purpose.
func checkPast(m *mountinfo.Info, mounts host.MountTable, others []host.MountNamespace) []finding.Finding {
	carrier := mounts.ByID(m.Parent)
	for host.IsJVSFS(carrier) && carrier.Mountpoint == m.Mountpoint { // one jvsfs mount upon another
		carrier = mounts.ByID(carrier.Parent)
	}
	if m.Mountpoint != m.Source || carrier == nil {
		return nil
	}
	dir, past := m.Mountpoint, host.StandingOn(carrier)
	own := host.Windows(mounts, carrier, dir)
	past.Add(own)
	out := bindFindings(own, dir)
	for _, ns := range others {
		seen := host.Windows(ns.Table, carrier, dir)
		past.Add(seen)
		out = append(out, namespaceFindings(ns, seen, dir, commandOf)...)
	}
	out = append(out, privateFindings(carrier, dir, others, commandOf)...)
	return append(out, standingFindings(past)...)
}

func commandOf(pid int) string {
	st, err := process.ReadStat(pid)
	if err != nil {
		return "?"
	}
	return human.Printable(st.Comm)
}

// bindFindings reports other paths in this namespace.
func bindFindings(own []host.Window, dir string) []finding.Finding {
	var out []finding.Finding
	for _, w := range own {
		if w.Bare && w.Path != dir {
			out = append(out, finding.Warn("bypass.bind", "umount "+w.Path+", or make it a bind of the mount", "%s is in view at %s, past the mount", dir, w.Path))
		}
	}
	return out
}

// namespaceFindings reports a namespace that sees the unfenced directory. command names a process.
func namespaceFindings(ns host.MountNamespace, seen []host.Window, dir string, command func(int) string) []finding.Finding {
	var at []string
	for _, w := range seen {
		if w.Bare {
			at = append(at, w.Path)
		}
	}
	if len(at) == 0 || len(ns.PIDs) == 0 {
		return nil
	}
	return []finding.Finding{finding.Warn("bypass.namespace", "restart them after the mount was made, or give them the mount (propagation rslave; docker: -v SRC:DST:rslave)",
		"%s is in view without the mount, at %s, to %s in another mount namespace (%s)", dir, strings.Join(at, ", "), some(ns.PIDs, command), ns.Name)}
}

// some names the first processes of a list.
func some(pids []int, command func(int) string) string {
	return human.Some(pids, 3, func(pid int) string { return fmt.Sprintf("process %d (%s)", pid, command(pid)) })
}

// containerRuntimes start processes in mount namespaces of their own.
var containerRuntimes = []string{"dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "podman", "conmon", "crio", "kubelet", "lxc-start", "lxd", "incusd", "systemd-nspawn"}

// privateFindings warns if a new mount does not propagate to running containers.
func privateFindings(carrier *mountinfo.Info, dir string, others []host.MountNamespace, command func(int) string) []finding.Finding {
	if strings.Contains(carrier.Optional, "shared:") {
		return []finding.Finding{finding.OK("propagation.shared", "a mount at %s is passed on to other mount namespaces", dir)}
	}
	var runtimes []int
	for _, ns := range others {
		for _, pid := range ns.PIDs {
			if slices.Contains(containerRuntimes, command(pid)) {
				runtimes = append(runtimes, pid)
			}
		}
	}
	if len(runtimes) == 0 {
		return []finding.Finding{finding.OK("propagation.alone", "the mount that carries %s is private, and no container runtime is in another mount namespace", dir)}
	}
	return []finding.Finding{finding.Warn("propagation.private", "mount --make-shared "+carrier.Mountpoint+", then mount again",
		"the mount that carries %s is private, so that %s in another mount namespace did not get it", dir, some(runtimes, command))}
}

// standingFindings names the processes that use the directory below, from before the mount or by another way.
func standingFindings(s host.Standing) []finding.Finding {
	var out []finding.Finding
	for _, e := range s.Processes() {
		how := ""
		if host.OpenForWriting(e) {
			how = ", open for writing"
		}
		out = append(out, finding.Warn("bypass.process", "let it leave the directory or close its files, then come back through the path",
			"process %d (%s) is at %s from before the mount or past it (%s)%s: its writes are not fenced", e.PID, human.Shorten(e.Command, 60), e.Path, e.Use, how))
	}
	for _, e := range s.Mappings() {
		out = append(out, finding.Warn("bypass.process", "let it unmap the file, then map it again through the path",
			"process %d (%s) maps %s for writing from before the mount or past it: its stores are not fenced", e.PID, human.Shorten(e.Command, 60), e.Path))
	}
	return out
}
