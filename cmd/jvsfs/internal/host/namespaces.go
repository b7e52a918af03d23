package host

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/moby/sys/mountinfo"
)

// MountNamespace is another mount namespace than that of this process, with the processes in it. A container
// has one of its own.
type MountNamespace struct {
	Name  string // as /proc has it, "mnt:[4026532000]"
	PIDs  []int
	Table MountTable
}

// ReadNamespaces finds the mount namespaces of all processes that this process may look at, except its own. It
// does not see namespaces without a process.
func ReadNamespaces(proc string) []MountNamespace {
	own, err := os.Readlink(filepath.Join(proc, "self", "ns", "mnt"))
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	at := map[string]int{own: -1}
	var out []MountNamespace
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		name, err := os.Readlink(filepath.Join(proc, e.Name(), "ns", "mnt"))
		if err != nil {
			continue // ended, or we may not look at it
		}
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, MountNamespace{Name: name})
		}
		if i < 0 {
			continue
		}
		out[i].PIDs = append(out[i].PIDs, pid)
		if out[i].Table == nil {
			out[i].Table = TableOf(filepath.Join(proc, e.Name(), "mountinfo"))
		}
	}
	return out
}

// TableOf reads a mount table from a file as /proc has it; nil if it cannot be read.
func TableOf(file string) MountTable {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	table, _ := parseMounts(f)
	return table
}

// Window is a way to a directory: a mount that shows it or a part of it, and the place where it does.
type Window struct {
	Mount *mountinfo.Info
	Path  string // of the directory, or of the part that is shown
	Bare  bool   // nothing covers it there
}

// Windows finds the ways to the directory dir of the file system that carrier shows, in a mount table: mounts
// and bind mounts of the file system, or of a part of it.
func Windows(table MountTable, carrier *mountinfo.Info, dir string) []Window {
	inside := filepath.Join(carrier.Root, RelativeTo(carrier.Mountpoint, dir))
	var out []Window
	for _, m := range table {
		if DeviceOf(m) != DeviceOf(carrier) {
			continue
		}
		w := Window{Mount: m, Path: m.Mountpoint}
		switch {
		case Within(m.Root, inside):
			w.Path = filepath.Join(m.Mountpoint, RelativeTo(m.Root, inside))
		case !Within(inside, m.Root):
			continue
		}
		if table.rooted() {
			top := table.At(w.Path)
			w.Bare = top != nil && top.ID == m.ID
		}
		out = append(out, w)
	}
	return out
}

// rooted reports whether the table has a root. A process whose root was unmounted has none.
func (t MountTable) rooted() bool { return t.root() != nil }
