package process

import "errors"

// Liveness says whether a process, or anybody of a group of them, lives.
type Liveness uint8

// What is known of a process.
const (
	Alive   Liveness = iota
	Stopped          // by a signal or a tracer, or in a frozen cgroup: it could not stop writing in time
	Gone             // it has ended; it may not have been reaped
	Unknown          // it cannot be seen
)

// Liveness returns the liveness of the process.
func (p ID) Liveness() Liveness {
	st, err := ReadStat(p.PID)
	switch {
	case errors.Is(err, ErrGone), err == nil && st.Start != p.Start:
		return Gone
	case err != nil:
		return Unknown
	case st.Ended():
		return Gone
	case st.State == 'T', st.State == 't', cgroupFrozen(p.PID):
		return Stopped
	}
	return Alive
}

// Runs reports whether the process has not ended. It does not ask whether it is stopped or frozen: that takes seven more system calls.
func (p ID) Runs() bool {
	st, err := ReadStat(p.PID)
	return err == nil && st.Start == p.Start && !st.Ended()
}
