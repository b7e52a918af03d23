package host

import (
	"fmt"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// HiddenIn lists the file systems that are mounted inside of a source. They are no part of the mount: it shows
// the directories that they cover. File systems that were mounted through the mount do not count.
func (t MountTable) HiddenIn(source string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, m := range t {
		if m.Mountpoint != source && Within(source, m.Mountpoint) && !t.through(m, source) {
			out = append(out, m)
		}
	}
	return out
}

// through reports whether a mount is one of the source, or lies on such a mount.
func (t MountTable) through(m *mountinfo.Info, source string) bool {
	for ; m != nil && m.ID != m.Parent; m = t.ByID(m.Parent) {
		if IsJVSFS(m) && m.Source == source {
			return true
		}
	}
	return false
}

// HiddenText names them.
func HiddenText(all []*mountinfo.Info) string {
	return human.Some(all, 8, func(m *mountinfo.Info) string { return fmt.Sprintf("%s (%s)", m.Mountpoint, m.FSType) })
}
