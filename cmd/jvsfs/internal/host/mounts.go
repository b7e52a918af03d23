package host

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// FSType is the file system type of every jvsfs mount in the mount table.
const FSType = "fuse.jvsfs"

// MountTable is the mount table of this process. Nothing here looks at a
// mounted file system itself: a stat of a mount whose daemon is dead fails,
// and one of a mount whose daemon is stopped hangs.
type MountTable []*mountinfo.Info

// ReadMounts reads /proc/thread-self/mountinfo.
func ReadMounts() (MountTable, error) { return mountinfo.GetMounts(nil) }

// parseMounts reads the format of /proc/PID/mountinfo.
func parseMounts(r io.Reader) (MountTable, error) { return mountinfo.GetMountsFromReader(r, nil) }

// IsJVSFS reports whether m is a jvsfs mount.
func IsJVSFS(m *mountinfo.Info) bool { return m != nil && m.FSType == FSType }

// JVSFS lists the jvsfs mounts, in the order of the table.
func (t MountTable) JVSFS() []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, m := range t {
		if IsJVSFS(m) {
			out = append(out, m)
		}
	}
	return out
}

// Has reports whether any jvsfs mount of a device is left.
func (t MountTable) Has(d api.Device) bool {
	return t.Count(d) > 0
}

// Count is the number of jvsfs mounts of a device. Other file systems do not count: one may have the number by
// now.
func (t MountTable) Count(d api.Device) (n int) {
	for _, m := range t.JVSFS() {
		if DeviceOf(m) == d {
			n++
		}
	}
	return n
}

// ByID finds a mount by its number, nil for none.
func (t MountTable) ByID(id int) *mountinfo.Info {
	for _, m := range t {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// At finds the mount on which a walk to the absolute, clean path ends. It goes down the tree as the kernel
// does. So it does not find a mount that another one covers, and of several mounts at one place it finds the
// topmost.
func (t MountTable) At(path string) *mountinfo.Info {
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
func (t MountTable) root() *mountinfo.Info {
	for _, m := range t {
		if m.Mountpoint == "/" && (m.Parent == m.ID || t.ByID(m.Parent) == nil) {
			return m
		}
	}
	return nil
}

// below is the child of cur that a walk to path meets first: the one with the
// shortest mount point.
func (t MountTable) below(cur *mountinfo.Info, path string) *mountinfo.Info {
	var best *mountinfo.Info
	for _, m := range t {
		if m.Parent != cur.ID || m.ID == cur.ID || !Within(m.Mountpoint, path) {
			continue
		}
		if best == nil || len(m.Mountpoint) < len(best.Mountpoint) {
			best = m
		}
	}
	return best
}

// Within reports whether the clean absolute path is dir or below it.
func Within(dir, path string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// RelativeTo is path below dir, "" for dir itself; within(dir, path) must hold.
func RelativeTo(dir, path string) string {
	return strings.Trim(strings.TrimPrefix(path, dir), "/")
}

// InMount is the path inside the file system of m that the absolute path names;
// a bind mount of a part of a jvsfs mount begins at m.Root.
func InMount(m *mountinfo.Info, path string) string {
	root := strings.Trim(m.Root, "/")
	rel := RelativeTo(m.Mountpoint, path)
	switch {
	case root == "":
		return rel
	case rel == "":
		return root
	}
	return root + "/" + rel
}

// CommonDir is the deepest directory that two absolute paths lie in.
func CommonDir(a, b string) string {
	for dir := filepath.Clean(a); ; dir = filepath.Dir(dir) {
		if Within(dir, filepath.Clean(b)) {
			return dir
		}
	}
}

// PathIn is where m shows what lies at a path inside of its file system: the mount point where
// that is above the part that m shows.
func PathIn(m *mountinfo.Info, inside string) string {
	if inside = filepath.Join("/", inside); !Within(m.Root, inside) {
		return m.Mountpoint
	}
	return filepath.Join(m.Mountpoint, RelativeTo(m.Root, inside))
}

// StackAt lists the jvsfs mounts that are stacked at a place, the topmost first, unless another mount covers
// them.
func (t MountTable) StackAt(point string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for m := t.At(point); IsJVSFS(m) && m.Mountpoint == point; m = t.ByID(m.Parent) {
		out = append(out, m)
	}
	return out
}
