package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/moby/sys/mountinfo"
)

// checkPast looks for who gets past an in-place mount: the directory below it, reached
// by another mount or namespace, or from before. A mount at a place of its own leaves
// its source in view on purpose.
func checkPast(m *mountinfo.Info, mounts mountTable, others []mountNamespace) []finding {
	carrier := mounts.byID(m.Parent)
	for isJVSFS(carrier) && carrier.Mountpoint == m.Mountpoint { // one jvsfs mount upon another
		carrier = mounts.byID(carrier.Parent)
	}
	if m.Mountpoint != m.Source || carrier == nil {
		return nil
	}
	p := past{dir: m.Mountpoint, device: deviceOf(carrier), carriers: map[uint64]string{}}
	own := windows(mounts, carrier, p.dir)
	p.add(own)
	out := bindFindings(own, p.dir)
	for _, ns := range others {
		seen := windows(ns.table, carrier, p.dir)
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
	return printable(st.Comm)
}

// bindFindings tells of other paths in this namespace.
func bindFindings(own []window, dir string) []finding {
	var out []finding
	for _, w := range own {
		if w.bare && w.path != dir {
			out = append(out, warn("bypass.bind", "umount "+w.path+", or make it a bind of the mount", "%s is in view at %s, past the mount", dir, w.path))
		}
	}
	return out
}

// namespaceFindings tells of a namespace that sees the bare directory. command names a
// process.
func namespaceFindings(ns mountNamespace, seen []window, dir string, command func(int) string) []finding {
	var at []string
	for _, w := range seen {
		if w.bare {
			at = append(at, w.path)
		}
	}
	if len(at) == 0 || len(ns.pids) == 0 {
		return nil
	}
	return []finding{warn("bypass.namespace", "restart them after the mount was made, or give them the mount (propagation rslave; docker: -v SRC:DST:rslave)",
		"%s is in view without the mount, at %s, to %s in another mount namespace (%s)", dir, strings.Join(at, ", "), some(ns.pids, command), ns.name)}
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

// privateFindings tells when a new mount is not passed on to those who run already.
func privateFindings(carrier *mountinfo.Info, dir string, others []mountNamespace, command func(int) string) []finding {
	if strings.Contains(carrier.Optional, "shared:") {
		return []finding{okf("propagation.shared", "a mount at %s is passed on to other mount namespaces", dir)}
	}
	var runtimes []int
	for _, ns := range others {
		for _, pid := range ns.pids {
			if slices.Contains(containerRuntimes, command(pid)) {
				runtimes = append(runtimes, pid)
			}
		}
	}
	if len(runtimes) == 0 {
		return []finding{okf("propagation.alone", "the mount that carries %s is private, and no container runtime is in another mount namespace", dir)}
	}
	return []finding{warn("propagation.private", "mount --make-shared "+carrier.Mountpoint+", then mount again",
		"the mount that carries %s is private, so that %s in another mount namespace did not get it", dir, some(runtimes, command))}
}

// past finds the processes that look at the directory by any mount that shows it.
type past struct {
	dir      string
	device   device            // of the file system below
	carriers map[uint64]string // mount id -> path of the directory there; ids are of the whole machine
}

func (p past) add(seen []window) {
	for _, w := range seen {
		p.carriers[uint64(w.mount.ID)] = w.path
	}
}

// processes names those who stand below, from before the mount or by another way.
func (p past) processes() []finding {
	scan := busyScan{
		proc: "/proc", skip: os.Getpid(), limit: maxBusyPerProcess,
		want: func(o opened, path string) bool { at, ok := p.carriers[o.mount]; return ok && within(at, path) },
	}
	var out []finding
	for _, e := range scan.run() {
		out = append(out, warn("bypass.process", "let it leave the directory or close its files, then come back through the path",
			"process %d (%s) is at %s from before the mount or past it (%s)%s: its writes are not fenced", e.PID, shorten(e.Command, 60), e.Path, e.Use, writing(e)))
	}
	return append(out, p.mappings()...)
}

// writing says of a descriptor that it can write.
func writing(e busyEntry) string {
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

// mappings names the processes that map a file there, shared and writable: a mapping
// outlives its descriptor. A file that is mapped through a mount of ours is on another
// device.
func (p past) mappings() []finding {
	names, _ := filepath.Glob("/proc/[0-9]*/maps") // the pattern is well-formed
	var out []finding
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		for _, path := range p.mapped(name) {
			out = append(out, warn("bypass.process", "let it unmap the file, then map it again through the path",
				"process %d (%s) maps %s for writing from before the mount or past it: its stores are not fenced", pid, shorten(commandLine(pid), 60), path))
		}
	}
	return out
}

func (p past) mapped(maps string) []string {
	text, err := os.ReadFile(maps)
	if err != nil {
		return nil // ended, or not ours to look at
	}
	return parseMaps(strings.NewReader(sharedWritable(string(text))), func(d device, path string) bool {
		if d != p.device {
			return false
		}
		for _, at := range p.carriers {
			if within(at, path) {
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
