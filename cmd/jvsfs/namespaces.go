package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/moby/sys/mountinfo"
)

// mountNamespace is a mount namespace other than this process's, with those who are
// in it. What runs in a container sees that container's.
type mountNamespace struct {
	name  string // as /proc has it, "mnt:[4026532000]"
	pids  []int
	table mountTable
}

// readNamespaces finds the mount namespaces of all processes that may be looked at,
// but not this one's own. Those that have no process are not seen.
func readNamespaces(proc string) []mountNamespace {
	own, err := os.Readlink(filepath.Join(proc, "self", "ns", "mnt"))
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	at := map[string]int{own: -1}
	var out []mountNamespace
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		name, err := os.Readlink(filepath.Join(proc, e.Name(), "ns", "mnt"))
		if err != nil {
			continue // ended, or not ours to look at
		}
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, mountNamespace{name: name})
		}
		if i < 0 {
			continue
		}
		out[i].pids = append(out[i].pids, pid)
		if out[i].table == nil {
			out[i].table = tableOf(filepath.Join(proc, e.Name(), "mountinfo"))
		}
	}
	return out
}

func tableOf(file string) mountTable {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	table, _ := parseMounts(f)
	return table
}

// window is a way to a directory: a mount that shows it, or a part of it, and where.
type window struct {
	mount *mountinfo.Info
	path  string // of the directory, or of the part that is shown
	bare  bool   // nothing covers it there
}

// windows finds the ways to the directory dir of the file system that carrier shows,
// in a mount table: the file system itself mounted, bound, or a part of it.
func windows(table mountTable, carrier *mountinfo.Info, dir string) []window {
	inside := filepath.Join(carrier.Root, relativeTo(carrier.Mountpoint, dir))
	var out []window
	for _, m := range table {
		if deviceOf(m) != deviceOf(carrier) {
			continue
		}
		w := window{mount: m, path: m.Mountpoint}
		switch {
		case within(m.Root, inside):
			w.path = filepath.Join(m.Mountpoint, relativeTo(m.Root, inside))
		case !within(inside, m.Root):
			continue
		}
		if table.rooted() {
			top := table.at(w.path)
			w.bare = top != nil && top.ID == m.ID
		}
		out = append(out, w)
	}
	return out
}

// rooted reports whether the table begins somewhere, as it does not for a process
// whose root was taken away.
func (t mountTable) rooted() bool { return t.root() != nil }
