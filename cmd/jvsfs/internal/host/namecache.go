package host

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// nameCacheOfGluster is the translator with which a client of GlusterFS remembers for minutes that a name does not exist. A claim of
// another host has such a name.
const nameCacheOfGluster = "performance/nl-cache"

// NameCache names what the client of the store at path remembers of names that do not exist, so that it would hide a successor; "" if
// it does not, or does not tell. The path need not exist. It reads the store.
func (t MountTable) NameCache(path string) string {
	m := t.At(path)
	for IsJVSFS(m) { // the records lie below it, and are read past it
		m = t.ByID(m.Parent)
	}
	if m == nil || m.FSType != "fuse.glusterfs" {
		return ""
	}
	for _, top := range t {
		if top.Root == "/" && DeviceOf(top) == DeviceOf(m) {
			if found, told := glusterHas(top, nameCacheOfGluster); told {
				return found
			}
		}
	}
	return ""
}

// glusterHas looks for a translator in the client of a mount of a volume. It is told in virtual files below the mount's root, of which
// another mount may lie.
func glusterHas(top *mountinfo.Info, kind string) (found string, told bool) {
	dir := filepath.Join(top.Mountpoint, ".meta/graphs/active")
	var st unix.Stat_t
	if unix.Stat(top.Mountpoint, &st) != nil || unix.Major(st.Dev) != uint32(top.Major) || unix.Minor(st.Dev) != uint32(top.Minor) {
		return "", false
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	for _, one := range all {
		text, err := os.ReadFile(filepath.Join(dir, one.Name(), "type"))
		if err == nil && strings.TrimSpace(string(text)) == kind {
			return kind, true
		}
	}
	return "", len(all) > 0
}
