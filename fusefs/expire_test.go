package fusefs

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A directory that is locked for long delays its own names, however many they are, and not those of
// other directories.
func TestALockedDirectoryDelaysNoOtherDirectory(t *testing.T) {
	const locked = 1
	var names []entry
	for i := range 10 * expirers {
		names = append(names, entry{dir: locked, name: strconv.Itoa(i)})
	}
	for dir := range uint64(10 * expirers) {
		names = append(names, entry{dir: locked + 1 + dir, name: "f"})
	}
	unlock, others, done := make(chan struct{}), make(chan entry), make(chan struct{})
	go func() {
		defer close(done)
		byDirectory(names, func(e entry) {
			if e.dir == locked {
				<-unlock
				return
			}
			others <- e
		})
	}()
	seen := make(map[entry]bool)
	for range 10 * expirers {
		select {
		case e := <-others:
			seen[e] = true
		case <-time.After(patience):
			t.Fatal("the names of other directories wait for the lock of one")
		}
	}
	require.Len(t, seen, 10*expirers)
	close(unlock)
	<-done
}
