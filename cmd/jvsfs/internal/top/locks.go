package top

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// lockLines are the lock files of rules that are not free, and the maintenance windows of what no lock guards, as far as the
// filter shows them.
func (s topScreen) lockLines(m api.MountStatus) (lines []string) {
	for _, v := range m.Rules {
		if v.State == tenure.StateFree || !s.shows(m.Mountpoint, v.ID, v.Lock, string(v.State), v.HolderText()) {
			continue
		}
		line := " lock " + v.ID + "  " + s.stateText(string(v.State)) + s.lockHolder(v)
		if v.Refusals > 0 {
			line += fmt.Sprintf(", %d refused", v.Refusals)
		}
		lines = append(lines, line)
	}
	for _, w := range m.Windows {
		if len(w.Locks) > 0 || !s.shows(m.Mountpoint, w.Path, string(tenure.StateWindow), w.HolderText()) {
			continue
		}
		lines = append(lines, " /"+w.Path+"  "+s.stateText(string(tenure.StateWindow))+
			fmt.Sprintf(" of %s until %s, rules %s", w.HolderText(), human.Clock(w.Until), strings.Join(w.Rules, ", ")))
	}
	return lines
}

// lockHolder says whose it is, and since or until when.
func (s topScreen) lockHolder(v tenure.View) string {
	switch {
	case v.Holder == nil:
		return ": nobody was seen to take it"
	case v.State == tenure.StateWindow && v.Until != nil:
		return fmt.Sprintf(" of %s until %s", v.HolderText(), human.Clock(*v.Until))
	case v.State == tenure.StateGone:
		return ": left from " + v.HolderText()
	case v.Since != nil:
		return fmt.Sprintf(" by %s for %s", v.HolderText(), human.Span(s.Snapshot.At.Sub(*v.Since)))
	}
	return " by " + v.HolderText()
}
