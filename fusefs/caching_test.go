package fusefs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// That a file has changed since it was opened is reported once. Own writes do not count where nobody else can write.
func TestAChangeSinceTheOpenIsReportedOnce(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := benchFS(t)
		f.canExpire, f.opts.Cache = true, CacheExclusive
		n := f.nodes.get(benchLookup(t, f, "file00"))
		other := &fuse.Attr{Size: 2, Mtime: 1}
		require.False(t, f.changedSinceOpened(n, other), "it was not opened")
		n.stamp = stamp{mtime: unix.Timespec{Sec: 1}, size: 1}
		if own {
			n.written.Store(f.losses.Load() + 1)
		}
		require.False(t, f.changedSinceOpened(n, &fuse.Attr{Size: 1, Mtime: 1}), "the same content")
		require.False(t, n.locks.stale.Load())
		require.Equal(t, !own, f.changedSinceOpened(n, other))
		require.Equal(t, !own, n.locks.stale.Load(), "what is known of its locks' content")
		require.False(t, f.changedSinceOpened(n, other), "once")
	}
}
