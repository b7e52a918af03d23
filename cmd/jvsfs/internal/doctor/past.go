package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
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
	p := past{dir: m.Mountpoint, device: host.DeviceOf(carrier), carriers: map[uint64]string{}}
	own := host.Windows(mounts, carrier, p.dir)
	p.add(own)
	out := bindFindings(own, p.dir)
	for _, ns := range others {
		seen := host.Windows(ns.Table, carrier, p.dir)
		p.add(seen)
		out = append(out, namespaceFindings(ns, seen, p.dir, commandOf)...)
	}
	out = append(out, privateFindings(carrier, p.dir, others, commandOf)...)
	return append(out, p.processes()...)
}

func commandOf(pid int) string {
	st, err := gate.ReadStat(pid)
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
	const named = 3
	var names []string
	for _, pid := range pids[:min(len(pids), named)] {
		names = append(names, fmt.Sprintf("process %d (%s)", pid, command(pid)))
	}
	if more := len(pids) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
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

// past finds the processes that use the directory through any mount that shows it.
type past struct {
	dir      string
	device   api.Device        // of the file system below
	carriers map[uint64]string // mount id -> path of the directory there; ids are of the whole machine
}

func (p past) add(seen []host.Window) {
	for _, w := range seen {
		p.carriers[uint64(w.Mount.ID)] = w.Path
	}
}

// processes names the processes that use the directory below, from before the mount or by another way.
func (p past) processes() []finding.Finding {
	scan := host.BusyScan{
		Proc: "/proc", Skip: os.Getpid(), Limit: host.MaxBusyPerProcess,
		Want: func(o host.Opened, path string) bool {
			at, ok := p.carriers[o.Mount]
			return ok && host.Within(at, path)
		},
	}
	var out []finding.Finding
	for _, e := range scan.Run() {
		out = append(out, finding.Warn("bypass.process", "let it leave the directory or close its files, then come back through the path",
			"process %d (%s) is at %s from before the mount or past it (%s)%s: its writes are not fenced", e.PID, human.Shorten(e.Command, 60), e.Path, e.Use, writing(e)))
	}
	return append(out, p.mappings()...)
}

// writing says that a descriptor is open for writing.
func writing(e api.BusyEntry) string {
	number, isFD := strings.CutPrefix(e.Use, "fd ")
	if !isFD {
		return ""
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(e.PID), "fdinfo", number))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(v), 8, 64)
			if err == nil && flags&uint64(os.O_WRONLY|os.O_RDWR) != 0 {
				return ", open for writing"
			}
		}
	}
	return ""
}

// mappings names the processes that map a file there, shared and writable. A mapping outlives its descriptor. A
// file that is mapped through a jvsfs mount is on another device.
func (p past) mappings() []finding.Finding {
	names, _ := filepath.Glob("/proc/[0-9]*/maps") // the pattern is well-formed
	var out []finding.Finding
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		for _, path := range p.mapped(name) {
			out = append(out, finding.Warn("bypass.process", "let it unmap the file, then map it again through the path",
				"process %d (%s) maps %s for writing from before the mount or past it: its stores are not fenced", pid, human.Shorten(host.CommandLine(pid), 60), path))
		}
	}
	return out
}

func (p past) mapped(maps string) []string {
	text, err := os.ReadFile(maps)
	if err != nil {
		return nil // ended, or we may not look at it
	}
	return host.ParseMaps(strings.NewReader(sharedWritable(string(text))), func(d api.Device, path string) bool {
		if d != p.device {
			return false
		}
		for _, at := range p.carriers {
			if host.Within(at, path) {
				return true
			}
		}
		return false
	})
}

// sharedWritable keeps the lines of /proc/PID/maps whose stores reach a file.
func sharedWritable(maps string) string {
	var b strings.Builder
	for line := range strings.Lines(maps) {
		if f := strings.Fields(line); len(f) > 1 && strings.Contains(f[1], "w") && strings.HasSuffix(f[1], "s") {
			b.WriteString(line)
		}
	}
	return b.String()
}
