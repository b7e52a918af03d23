package transport

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is what only something that hangs takes.
const patience = time.Minute

// A request that comes long after the only reader got stuck in another one must find a reader, and
// so must the one after that.
func TestThePoolHelpsAReaderThatIsStuck(t *testing.T) {
	var requests atomic.Int32
	var stuck atomic.Int32
	free := make(chan struct{})
	c := newReaderPool(func() bool { return requests.Load() > 0 })
	requests.Store(1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(func(r *reader) {
			for c.next(r) {
				for requests.Add(-1) < 0 {
					requests.Add(1)
					select {
					case <-free:
						c.missed(r)
						return
					case <-time.After(time.Millisecond):
					}
				}
				c.took(r, true)
				stuck.Add(1)
				<-free
			}
		})
	}()
	for want := int32(1); want <= 20; want++ {
		require.Eventually(t, func() bool { return stuck.Load() == want }, patience, time.Millisecond)
		if want == 1 {
			time.Sleep(2 * restAfter * tick) // as long as the watch would need to fall asleep
		}
		requests.Add(1)
	}
	c.over()
	close(free)
	<-ended
}
