package tenure

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// State of a lock, for people.
type State string

// The states. The JSON values are a promise.
const (
	StateFree    State = "free"
	StateHeld    State = "held"
	StateUnknown State = "unknown" // the file is there, and nobody was seen to take it
	StateGone    State = "gone"    // its holder has ended
	StateWindow  State = "window"  // a maintenance window is open
)

// View is a lock as it is shown. The JSON names are stable.
type View struct {
	Rule     string            `json:"rule"`
	Captures map[string]string `json:"captures,omitempty"`
	ID       string            `json:"id"`
	Lock     string            `json:"lock"`
	State    State             `json:"state"`
	Tenure   uint64            `json:"tenure,omitempty"`
	Holder   *gate.HolderView  `json:"holder,omitempty"`
	Since    *time.Time        `json:"since,omitempty"`
	Until    *time.Time        `json:"until,omitempty"` // of a window: when it ends at the latest
	Tenures  uint64            `json:"tenures"`
	Breaks   uint64            `json:"breaks"`
	Refusals uint64            `json:"refusals"`
}

var states = map[lockfile.State]State{lockfile.Free: StateFree, lockfile.Held: StateHeld, lockfile.Unknown: StateUnknown, lockfile.Window: StateWindow}

// View shows the lock as it is now.
func (l *Lock) View() View {
	v := View{Rule: l.Rule.Name, ID: l.ID(), Lock: l.Path, State: states[l.state()]}
	for _, c := range l.Captures {
		if v.Captures == nil {
			v.Captures = make(map[string]string)
		}
		v.Captures[c.Name] = c.Value
	}
	l.mu.Lock()
	h := l.held
	v.Tenures, v.Breaks, v.Refusals = l.counted.tenures, l.counted.breaks, l.counted.refusals
	l.mu.Unlock()
	if w := l.window.Load(); w != nil {
		since, until := w.since, w.until
		v.State, v.Tenure, v.Since, v.Until, v.Holder = StateWindow, w.number, &since, &until, gate.ViewOf(w.holder, 0)
		return v
	}
	if h == nil {
		return v
	}
	since := h.since
	v.State, v.Tenure, v.Since, v.Holder = StateHeld, h.number, &since, gate.ViewOf(h.holder, 0)
	if l.book.cfg.Resolver.Gone(h.holder) {
		v.State = StateGone
	}
	return v
}

// HolderText names the holder for people: "process 4711 (agency)".
func (v View) HolderText() string {
	switch h := v.Holder; {
	case h == nil:
		return "nobody knows whom"
	case h.PID == 0:
		return h.ID
	case h.Purpose == "":
		return fmt.Sprintf("process %d", h.PID)
	default:
		return fmt.Sprintf("process %d (%s)", h.PID, h.Purpose)
	}
}
