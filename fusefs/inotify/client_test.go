package inotify

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newTestClient watches a directory for names that are made.
func newTestClient(t *testing.T) (c *Client, dir string, watch int32) {
	t.Helper()
	c, err := New()
	require.NoError(t, err)
	t.Cleanup(c.Close)
	dir = t.TempDir()
	watch, err = c.Add(dir, unix.IN_CREATE)
	require.NoError(t, err)
	return c, dir, watch
}

func TestAnEventNamesItsWatchAndItsFile(t *testing.T) {
	c, dir, watch := newTestClient(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b"), 0o700))
	var told []Event
	calm, err := c.Next(func(e Event) bool {
		told = append(told, e)
		return e.Name == "a"
	})
	require.NoError(t, err)
	require.False(t, calm, "b is not")
	require.Equal(t, []Event{{watch, unix.IN_CREATE | unix.IN_ISDIR, "a"}, {watch, unix.IN_CREATE | unix.IN_ISDIR, "b"}}, told)

	c.Remove(watch)
	_, err = c.Next(func(e Event) bool {
		require.Equal(t, Event{Watch: watch, Mask: unix.IN_IGNORED}, e)
		return true
	})
	require.NoError(t, err)
}

// Who waits for the events so far is let go when all of them were told, although the reader gathers.
func TestWhoWaitsForTheEventsSoFarKnowsThem(t *testing.T) {
	c, dir, _ := newTestClient(t)
	var told sync.Map // by name
	over := make(chan error)
	go func() {
		for {
			if _, err := c.Next(func(e Event) bool { told.Store(e.Name, true); return true }); err != nil || !c.Gather(time.Hour) {
				over <- err
				return
			}
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		c.CaughtUp(time.Hour)
		_, was := told.Load(name)
		require.True(t, was, name)
	}
	c.Close()
	if err := <-over; err != nil { // it may have been gathering
		require.ErrorIs(t, err, os.ErrClosed)
	}
	c.CaughtUp(time.Hour) // nobody is waited for any more
}

func TestAWatchIsOfOneAndOneHasOneWatch(t *testing.T) {
	w := NewWatches[string]()
	w.Put(1, "a")
	w.Put(1, "b") // the kernel has given the number again
	_, known := w.By["a"]
	require.False(t, known)
	w.Put(2, "b")
	_, known = w.Of[1]
	require.False(t, known)
	n, known := w.Of[2]
	require.True(t, known)
	require.Equal(t, "b", n)
	require.Equal(t, 1, w.Len())
	w.Delete(2)
	w.All(func(string) { t.Error("there is none") })
}
