package wait

import "github.com/jvsfs/jvsfs/gate/process"

// Caller is who has made the request that waits.
type Caller struct {
	TID    uint32          // 0: not visible from here
	Signal <-chan struct{} // closed when it has got a signal; nil: unknown
}

// Killed reports whether the caller is being killed, so that it only waits for its call to end.
// Another signal must not break off a call on a file: other file systems do not let it, either.
func (c Caller) Killed() bool {
	return c.Signal != nil && Happened(c.Signal) && process.Dying(c.TID)
}

// watch calls killed when the caller is being killed. The returned function stops that and waits until
// it has stopped.
func (c Caller) watch(killed func()) (end func()) {
	if c.Signal == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(ended)
		if process.WhenDying(c.Signal, c.TID, stop) {
			killed()
		}
	}()
	return func() { close(stop); <-ended }
}
