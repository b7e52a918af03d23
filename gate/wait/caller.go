package wait

import "github.com/jvsfs/jvsfs/gate/process"

// Caller is who has made the request that waits.
type Caller struct {
	TID    uint32          // 0: not visible from here
	Signal <-chan struct{} // closed when it has got a signal; nil: unknown
}

// watch calls killed when the caller is being killed. Another signal ends no wait. The returned function stops the watch, and returns when
// that has ended.
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
