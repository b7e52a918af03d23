package fusefs

import (
	"testing"
	"testing/synctest"
	"time"

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
		require.False(t, n.locked.stale.Load())
		require.Equal(t, !own, f.changedSinceOpened(n, other))
		require.Equal(t, !own, n.locked.stale.Load(), "what is known of its locks' content")
		require.False(t, f.changedSinceOpened(n, other), "once")
	}
}

// A young stamp is doubted where other hosts write, until no change leaves it any more, and the pages were dropped once more.
func TestAYoungTimeStampIsNotTrusted(t *testing.T) {
	for name, x := range map[string]struct {
		durable bool
		age     time.Duration
		doubted bool
	}{
		"a young one":     {true, 0, true},
		"an old one":      {true, 2 * youngStamp, false},
		"of this kernel":  {false, 0, false},
		"of another time": {true, -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := benchFS(t)
				f.durable = x.durable
				n := f.nodes.get(benchLookup(t, f, "file00"))
				at := unix.NsecToTimespec(time.Now().Add(-x.age).Truncate(time.Second).UnixNano())
				st := &unix.Stat_t{Size: 4, Mtim: at, Ctim: at}
				attr := &fuse.Attr{Size: 4, Mtime: uint64(at.Sec)}
				require.False(t, f.sameContent(n, st), "the first time")
				require.Equal(t, !x.doubted, f.sameContent(n, st))
				require.False(t, f.changedSinceOpened(n, attr), "not yet")
				if !x.doubted {
					return
				}
				n.doubted = n.doubted.Add(-time.Second)
				require.False(t, f.sameContent(n, st), "one second is not enough")
				n.doubted = n.doubted.Add(-time.Second)
				require.False(t, f.sameContent(n, st), "the pages may be from before")
				require.True(t, f.sameContent(n, st))

				n.doubted = time.Now().Add(-2 * time.Second)
				require.True(t, f.changedSinceOpened(n, attr), "who has it open is told")
				require.False(t, f.changedSinceOpened(n, attr), "once")
				require.True(t, n.locked.stale.Load())
			})
		})
	}
}

// A stamp with nanoseconds is doubted for some ticks of a clock.
func TestATimeStampOfNanosecondsIsNotTrustedForAMoment(t *testing.T) {
	fine, coarse := stamp{mtime: unix.Timespec{Sec: 1, Nsec: 1}}, stamp{mtime: unix.Timespec{Sec: 1}}
	require.Equal(t, 50*time.Millisecond, fine.window())
	require.Equal(t, 1050*time.Millisecond, coarse.window())
}
