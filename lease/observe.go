package lease

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// watcher looks at the head over time. It saves reads (Observe), and owns what only time can tell (rules 6 and 7).
type watcher struct {
	cfg KeeperConfig

	mu    sync.Mutex
	valid bool
	head  Head
	key   watchKey
	free  watchKey // the stamps when the head was last read and judged free; zero if it was not

	seen      bool
	lastState State         // the last judgement, by time alone
	since     instant       // the record's bytes have not changed since; read after the first read of these bytes
	sum       [32]byte      // of those bytes
	token     Token         // of the record
	suspect   string        // why clocks are not trusted, "" if they are
	until     time.Duration // boot time from which on they are trusted again, if nothing changes
}

// watchKey changes when a claim is born, the head is rewritten, or the view is moved.
type watchKey struct{ dir, head, view stampOf }

type stampOf struct {
	file  fileID
	mtime unix.Timespec
	ctime unix.Timespec
	size  int64
}

// racy is how old a stamp must be to prove that the bytes did not change since. File systems stamp with the timer tick.
const racy = 50 * time.Millisecond

// coarse is how far apart two changes may be that have the same stamp, on a store that stamps in whole seconds. MooseFS 3.0.117 does: ten
// names that are made within one second leave one stamp. The size that it shows of a directory is that of the files in it, which tells of
// a new claim while they are few; of a gigabyte it has too few digits for that.
const coarse = time.Second

// window is how long after this stamp was first seen another change may still leave the same. A stamp without nanoseconds is taken for
// one of whole seconds; of the others one in 10^9 has none by chance, and costs a look.
func (s stampOf) window() time.Duration {
	if s.mtime.Nsec == 0 && s.ctime.Nsec == 0 {
		return coarse + racy
	}
	return racy
}

// observe is look. It takes the head from memory if no stamp has changed.
func (w *watcher) observe() (Head, Judgement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := readClocks(w.cfg.Clock)
	if w.valid && w.stamps(w.head.Token) == w.key {
		return w.head, w.judge(before, before.wall, w.head)
	}
	h, j, err := w.lookLocked(before)
	if err != nil {
		h = Head{Unreadable: err, File: w.cfg.Store.dir.path}
		j = Judge(before.wall, h, w.cfg.Policy)
	}
	return h, j
}

// look reads the head. It reads the clocks first (rule 5).
func (w *watcher) look() (Head, Judgement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lookLocked(readClocks(w.cfg.Clock))
}

func (w *watcher) lookLocked(before instant) (Head, Judgement, error) {
	key := w.stamps(w.head.Token)
	h, err := w.cfg.Store.Head()
	after := w.cfg.Clock.Wall().Round(0)
	if err != nil {
		w.valid = false
		return Head{}, Judgement{}, err
	}
	// The stamps are from before the read: if the files changed meanwhile, the next call sees other stamps.
	w.valid = h.Token == w.head.Token && h.Unreadable == nil && settled(key)
	w.head, w.key = h, key
	w.note(before, h)
	j := w.judge(before, after, h)
	if w.free = (watchKey{}); j.State == Free { // from before the read, so that a claim that came meanwhile shows
		w.free = watchKey{dir: key.dir, head: w.cfg.Store.stamp(w.cfg.Store.claimName(h.Token)), view: key.view}
	}
	return h, j, nil
}

// stillFree is the head that was last read, and whether it was free then and no stamp has changed since.
func (w *watcher) stillFree() (Head, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, w.free.dir != (stampOf{}) && w.stamps(w.head.Token) == w.free
}

// note keeps since when the record has not changed (rule 6), and distrusts the clocks if it changed after it was over (rule 7).
func (w *watcher) note(before instant, h Head) {
	if w.seen && w.token == h.Token && w.sum == h.Sum {
		return
	}
	if w.seen && w.token == h.Token && h.Record != nil && !h.Record.Released && w.judgedOver() {
		w.distrust(before, "its record changed after its lease had ended by this host's clock")
	}
	w.seen, w.token, w.sum = true, h.Token, h.Sum
	w.since = readClocks(w.cfg.Clock)
}

// judgedOver is whether the last look called the record expired.
func (w *watcher) judgedOver() bool { return w.lastState == Expired || w.lastState == Stealable }

func (w *watcher) distrust(at instant, why string) {
	w.suspect, w.until = why, at.boot+w.cfg.Policy.Silence()
}

// judge is JudgeRead, with what the watcher knows from earlier looks.
func (w *watcher) judge(now instant, after time.Time, h Head) Judgement {
	j := JudgeRead(now.wall, after, h, w.cfg.Policy)
	if j.State != Expired && j.State != Stealable {
		w.lastState = j.State
		return j
	}
	if off := now.apart(w.since); off > divergenceBound(w.cfg.Policy) {
		w.distrust(now, fmt.Sprintf("this host's clock was set by %v while its record was watched", off))
		w.since = now
	}
	w.lastState = j.State
	need := w.cfg.Policy
	if h.Record != nil {
		need = need.Stricter(h.Record.Policy())
	}
	quiet := now.boot - w.since.boot
	if w.suspect != "" && now.boot < w.until {
		return Judgement{Skewed, now.wall.Add(w.until - now.boot), w.suspect}
	}
	w.suspect = ""
	if left := w.unwatched(h, need, quiet); j.State == Stealable && left > 0 {
		return Judgement{Expired, now.wall.Add(left), "its lease ended, but it has not been watched for long enough to know that it stopped"}
	}
	return j
}

// unwatched is how much longer the record of h must be watched (rule 6). Where its host is cut off first (rule 17), one lease is enough:
// by then no renewal came in time, and a write that is still on its way never lands. So skew and grace need not be waited for twice.
func (w *watcher) unwatched(h Head, p record.Policy, quiet time.Duration) time.Duration {
	if w.cfg.cutsOff(h) {
		return p.LeaseDuration - quiet
	}
	return w.cfg.Store.dir.tier.unwatched(p, quiet)
}

// contradiction owns since when the head's stamps contradict our clock (rule 7, case d). Safe for concurrent use.
type contradiction struct {
	mu    sync.Mutex
	of    [32]byte      // the sum of the bytes whose stamps do
	since time.Duration // boot time at which they first did
}

// note notes when the head's stamps first contradicted our clock.
func (c *contradiction) note(h Head, at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != h.Sum {
		c.of, c.since = h.Sum, at
	}
}

// lasts is how long ago these very bytes first contradicted our clock. 0: they did not.
func (c *contradiction) lasts(h Head, now time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != h.Sum {
		return 0
	}
	return now - c.since
}

func (w *watcher) stamps(t Token) watchKey {
	s := w.cfg.Store
	return watchKey{dir: s.stamp("."), head: s.stamp(s.claimName(t)), view: s.stamp(s.viewName())}
}

// stamp is zero if the file cannot be looked at.
func (s *Store) stamp(name string) stampOf {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(s.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return stampOf{}
	}
	return stampOf{file: idOf(&st), mtime: st.Mtim, ctime: st.Ctim, size: st.Size}
}

// settled is whether every stamp is old enough. It reads the real clock, which stamps files, whatever clock is injected. Where another
// host stamps, its clock may be behind, and a change be missed until the next one: who takes a lease does not ask this, but reads.
func settled(k watchKey) bool {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return false
	}
	for _, s := range []stampOf{k.dir, k.head, k.view} {
		if s != (stampOf{}) && time.Duration(now.Nano()-s.ctime.Nano()) < s.window() {
			return false
		}
	}
	return true
}
