package host

import (
	"fmt"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// HiddenIn lists what is mounted inside of a source, and is no part of the mount: there the
// directories are seen that those cover. What is mounted through the mount is not meant.
func (t MountTable) HiddenIn(source string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, m := range t {
		if m.Mountpoint != source && Within(source, m.Mountpoint) && !t.through(m, source) {
			out = append(out, m)
		}
	}
	return out
}

// through tells whether a mount is one of the source, or lies on such a one.
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
	const named = 8
	var names []string
	for _, m := range all[:min(len(all), named)] {
		names = append(names, fmt.Sprintf("%s (%s)", m.Mountpoint, m.FSType))
	}
	if more := len(all) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
