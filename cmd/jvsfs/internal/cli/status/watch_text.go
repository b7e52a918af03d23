package status

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

// eventText is an event as one line for people.
func eventText(e api.Event) string {
	where := e.Mountpoint
	if e.Path != "" {
		where = e.Path
	}
	return fmt.Sprintf("%s  %-13s %s  %s", human.Clock(e.At), strings.ReplaceAll(string(e.Kind), "_", " "), where, eventDetail(e))
}

// eventDetail words what is particular to the kind.
func eventDetail(e api.Event) string {
	switch {
	case e.Refusal != nil:
		return refusedText(*e.Refusal)
	case e.Enforce != "":
		return fmt.Sprintf("%s, was %s, by %s", e.Enforce, e.EnforcePrevious, e.By)
	case e.Lock != nil:
		return lockText(e)
	case e.Window != nil:
		return windowText(e)
	case e.Quiesced != nil:
		return fmt.Sprintf("token %d  for %s, by %s", e.Token, e.Quiesced.Command, e.Quiesced.By)
	case e.Kind == api.Missed:
		return missedText(e)
	case e.Kind == api.Ended:
		return strings.TrimSuffix("the mount is gone: "+e.Reason, ": ")
	case e.Holder == nil:
		return e.Reason
	}
	text := fmt.Sprintf("token %d  %s", e.Token, holderText(e.Holder))
	if e.Before != nil {
		text += ", from " + holderText(e.Before)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func holderText(h *gate.HolderView) string {
	if h.Purpose == "" {
		return h.ID
	}
	return h.ID + " (" + h.Purpose + ")"
}

func refusedText(r api.RefusalView) string {
	who := r.Command
	if who == "" {
		who = "a process"
	}
	text := fmt.Sprintf("%s of %s (pid %d, uid %d): %s: %s", r.Op, who, r.PID, r.UID, r.Class, r.Sentence)
	if r.Count > 1 {
		text += fmt.Sprintf(" (%d times)", r.Count)
	}
	return text
}

// missedText says which events are missing, as far as that is known.
func missedText(e api.Event) string {
	switch {
	case e.Last != 0:
		return fmt.Sprintf("events %d to %d: %s", e.First, e.Last, e.Reason)
	case e.First != 0:
		return fmt.Sprintf("events from %d on: %s", e.First, e.Reason)
	}
	return e.Reason
}

// lockText is about the lock file of a rule.
func lockText(e api.Event) string {
	text := e.Lock.ID
	if e.Holder != nil {
		text += fmt.Sprintf("  tenure %d  %s", e.Lock.Tenure, holderText(e.Holder))
	}
	if e.Lock.ByPID != 0 {
		text += fmt.Sprintf(", by pid %d", e.Lock.ByPID)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// windowText is about a maintenance window.
func windowText(e api.Event) string {
	text := fmt.Sprintf("window %d  %s, rules %s, until %s", e.Window.Window, holderText(e.Window.Holder), strings.Join(e.Window.Rules, ", "), human.Clock(e.Window.Until))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}
