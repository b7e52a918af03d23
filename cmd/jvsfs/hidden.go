package main

import (
	"fmt"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// hiddenIn lists what is mounted inside of a source, and is no part of the mount: there the
// directories are seen that those cover. What is mounted through the mount is not meant.
func (t mountTable) hiddenIn(source string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, m := range t {
		if m.Mountpoint != source && within(source, m.Mountpoint) && !t.through(m, source) {
			out = append(out, m)
		}
	}
	return out
}

// through tells whether a mount is one of the source, or lies on such a one.
func (t mountTable) through(m *mountinfo.Info, source string) bool {
	for ; m != nil && m.ID != m.Parent; m = t.byID(m.Parent) {
		if isJVSFS(m) && m.Source == source {
			return true
		}
	}
	return false
}

// hiddenText names them.
func hiddenText(all []*mountinfo.Info) string {
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

// sayHidden tells who mounts what the mount does not show.
func (m *mountCommand) sayHidden(p place, point string) []string {
	mounts, err := readMounts()
	if err != nil {
		return nil
	}
	all := mounts.hiddenIn(p.Root)
	if len(all) == 0 {
		return nil
	}
	noteTo(m.io)(fmt.Sprintf("not part of the mount are the file systems that are mounted inside of %s: %s; what is written to those places through %s goes to the directories that they cover. "+
		"Unmount them before, or mount them again at their places in %s", p.Root, hiddenText(all), point, point))
	out := make([]string, 0, len(all))
	for _, h := range all {
		out = append(out, h.Mountpoint)
	}
	return out
}

// hiddenFindings is what doctor says of it.
func hiddenFindings(m *mountinfo.Info, mounts mountTable) []finding {
	all := mounts.hiddenIn(m.Source)
	if len(all) == 0 {
		return nil
	}
	return []finding{warn("mounts.hidden", "umount "+m.Mountpoint+", unmount what is inside, mount again, and mount that again at its place in "+m.Mountpoint,
		"%s does not show what is mounted inside of %s by another way: %s", m.Mountpoint, m.Source, hiddenText(all))}
}
