package main

import (
	"io"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// fsType is the file system type of every jvsfs mount in the mount table.
const fsType = "fuse.jvsfs"

// mountTable is the mount table of this process. Nothing here looks at a
// mounted file system itself: a stat of a mount whose daemon is dead fails,
// and one of a mount whose daemon is stopped hangs.
type mountTable []*mountinfo.Info

// readMounts reads /proc/thread-self/mountinfo.
func readMounts() (mountTable, error) { return mountinfo.GetMounts(nil) }

// parseMounts reads the format of /proc/PID/mountinfo.
func parseMounts(r io.Reader) (mountTable, error) { return mountinfo.GetMountsFromReader(r, nil) }

// isJVSFS tells whether m is a mount of ours.
func isJVSFS(m *mountinfo.Info) bool { return m != nil && m.FSType == fsType }

// jvsfs lists the mounts of ours, in the order of the table.
func (t mountTable) jvsfs() []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, m := range t {
		if isJVSFS(m) {
			out = append(out, m)
		}
	}
	return out
}

// has tells whether a jvsfs mount of a device is left, at whatever place.
func (t mountTable) has(d device) bool {
	return t.count(d) > 0
}

// count is how many jvsfs mounts of a device there are: its number may be another file
// system's by now.
func (t mountTable) count(d device) (n int) {
	for _, m := range t.jvsfs() {
		if deviceOf(m) == d {
			n++
		}
	}
	return n
}

// byID finds a mount by its number, nil for none.
func (t mountTable) byID(id int) *mountinfo.Info {
	for _, m := range t {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// at finds the mount that a walk to the absolute, clean path ends on. It goes
// down the tree as the kernel does, so that a mount that another one covers is
// not found, and the topmost of several at one place is.
func (t mountTable) at(path string) *mountinfo.Info {
	cur := t.root()
	for cur != nil {
		next := t.below(cur, path)
		if next == nil {
			return cur
		}
		cur = next
	}
	return nil
}

// root is the mount at "/" whose parent is not in the table.
func (t mountTable) root() *mountinfo.Info {
	for _, m := range t {
		if m.Mountpoint == "/" && (m.Parent == m.ID || t.byID(m.Parent) == nil) {
			return m
		}
	}
	return nil
}

// below is the child of cur that a walk to path meets first: the one with the
// shortest mount point.
func (t mountTable) below(cur *mountinfo.Info, path string) *mountinfo.Info {
	var best *mountinfo.Info
	for _, m := range t {
		if m.Parent != cur.ID || m.ID == cur.ID || !within(m.Mountpoint, path) {
			continue
		}
		if best == nil || len(m.Mountpoint) < len(best.Mountpoint) {
			best = m
		}
	}
	return best
}

// within tells whether the clean absolute path is dir or below it.
func within(dir, path string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// relativeTo is path below dir, "" for dir itself; within(dir, path) must hold.
func relativeTo(dir, path string) string {
	return strings.Trim(strings.TrimPrefix(path, dir), "/")
}

// inMount is the path inside the file system of m that the absolute path names;
// a bind mount of a part of a jvsfs mount begins at m.Root.
func inMount(m *mountinfo.Info, path string) string {
	root := strings.Trim(m.Root, "/")
	rel := relativeTo(m.Mountpoint, path)
	switch {
	case root == "":
		return rel
	case rel == "":
		return root
	}
	return root + "/" + rel
}

// stackAt lists the jvsfs mounts at a place, one on the root of the other, the uppermost
// first, as far as nothing else covers them.
func (t mountTable) stackAt(point string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for m := t.at(point); isJVSFS(m) && m.Mountpoint == point; m = t.byID(m.Parent) {
		out = append(out, m)
	}
	return out
}
