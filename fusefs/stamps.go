package fusefs

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp tells one content of a file from another. At an open for reading the kernel keeps its pages
// of a file if the stamp is the same.
//
// A second change within one tick of the store's clock leaves the same stamp. That tick is a second on MooseFS 3.0.117. So on a store that other
// hosts write a young stamp is doubted: the kernel keeps no pages that it read before nobody could leave that stamp any more.
type stamp struct {
	mtime, ctime unix.Timespec
	size         int64
}

func stampOf(st *unix.Stat_t) stamp { return stamp{st.Mtim, st.Ctim, st.Size} }

// window is how long after a stamp was first seen another change may still leave the same one. One without nanoseconds is taken for one of
// whole seconds. (As in package lease, where stamps spare listings.)
func (s *stamp) window() time.Duration {
	const tick = 50 * time.Millisecond
	if s.mtime.Nsec == 0 && s.ctime.Nsec == 0 {
		return time.Second + tick
	}
	return tick
}

// youngStamp is how old a stamp is, by this host's clock, that no change leaves any more. It is far more than the clocks of hosts may differ
// by (max_clock_skew).
const youngStamp = time.Minute

func (s *stamp) isYoung() bool {
	now := time.Now()
	return now.Sub(time.Unix(s.mtime.Unix())) < youngStamp || now.Sub(time.Unix(s.ctime.Unix())) < youngStamp
}

// sameContent reports whether the file still has the stamp of the last open, and that tells of every change since. It notes the new one.
func (f *rawFS) sameContent(n *node, st *unix.Stat_t) bool {
	now := stampOf(st)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stamp != now {
		f.noteStamp(n, now)
		return false
	}
	if !n.isDoubted() {
		return true
	}
	n.staysDoubted()
	return false
}

// noteStamp notes the stamp of a file whose pages are dropped now. The caller holds mu of n.
func (f *rawFS) noteStamp(n *node, now stamp) {
	if n.stamp == now {
		n.staysDoubted()
		return
	}
	n.stamp, n.doubted = now, time.Time{}
	if f.durable && now.isYoung() {
		n.doubted = time.Now()
	}
}

// isDoubted reports whether the kernel may have pages from before the latest change, although the stamp is the same. Under mu.
func (n *node) isDoubted() bool { return !n.doubted.IsZero() }

// staysDoubted reports whether another change may still leave the stamp. Otherwise the doubt is over: the caller drops the pages. Under mu.
func (n *node) staysDoubted() bool {
	if n.isDoubted() && time.Since(n.doubted) >= n.stamp.window() {
		n.doubted = time.Time{}
	}
	return n.isDoubted()
}

// openedAs reports whether a file has the content with which it was opened, if it was. The caller holds mu.
func (n *node) openedAs(now *stamp) bool {
	return n.stamp == (stamp{}) || n.stamp.mtime == now.mtime && n.stamp.size == now.size
}
