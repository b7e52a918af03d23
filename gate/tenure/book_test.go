package tenure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/integration/goroutines"
	"github.com/jvsfs/jvsfs/lease"
)

// ground is a book over a file system in memory, on which programs work that are real processes.
type ground struct {
	*testing.T
	book  *Book
	clock *clock

	mu     sync.Mutex
	files  map[string]File
	says   map[string]string
	inode  uint64
	events []EventKind
	kept   map[string]Kept
	loans  Loans
	joins  bool
}

// clock goes on by a microsecond whenever somebody looks at it, and otherwise as it is told: however slow the machine is, no lock is
// older than its test makes it.
type clock struct {
	lease.Clock
	begun time.Duration
	ahead atomic.Int64
}

func newClock() *clock {
	of := lease.SystemClock()
	return &clock{Clock: of, begun: of.Boot()}
}

func (c *clock) Boot() time.Duration {
	return c.begun + time.Duration(c.ahead.Add(int64(time.Microsecond)))
}

func (g *ground) Look(path string) (File, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.files[path]
	return f, ok
}

func (g *ground) Forget(string) {}

func (g *ground) Read(path string, _ int64) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, there := g.files[path]; !there {
		return nil, errNone
	}
	return []byte(g.says[path]), nil
}

func (g *ground) Remove(path string, is File) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files[path] == is {
		delete(g.files, path)
	}
	return nil
}

func (g *ground) Prepare(*gate.Guard) {}

// Put, Drop and All make it a Memory.
func (g *ground) Put(k Kept) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept[k.ID] = k
	return nil
}

func (g *ground) Drop(id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.kept, id)
	return nil
}

func (g *ground) All() (all []Kept, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range g.kept {
		all = append(all, k)
	}
	return all, nil
}

// has makes or replaces a file past the mount; File{} removes it.
func (g *ground) has(path string, f File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files[path] = f; f == (File{}) {
		delete(g.files, path)
	}
}

func (g *ground) seen() []EventKind {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.events)
}

// agency is a rule as most are.
func agency(with func(*lockfile.Spec)) lockfile.Spec {
	s := lockfile.Spec{
		Name: "agency", Lock: "repos/{repo}/.lock", TakenBy: lockfile.ByCreate, Guards: []string{"repos/{repo}/**"}, Except: []string{"repos/{repo}/.lock"},
	}
	if with != nil {
		with(&s)
	}
	return s
}

func newGround(t *testing.T, specs ...lockfile.Spec) *ground {
	t.Helper()
	g := &ground{T: t, clock: newClock(), files: make(map[string]File), says: make(map[string]string), kept: make(map[string]Kept)}
	g.open(specs...)
	return g
}

// open makes the book, as another daemon would.
func (g *ground) open(specs ...lockfile.Spec) {
	g.Helper()
	rules, mistakes := lockfile.Compile(specs)
	require.Empty(g, mistakes)
	exits, err := process.NewExitWatch()
	require.NoError(g, err)
	resolver := gate.NewResolver(g.clock)
	g.book = New(Config{
		Rules: rules, Worktree: "w", Enforcement: gate.NewEnforcement(gate.Enforcing), Resolver: resolver, Exits: exits, Clock: g.clock, Errno: syscall.EROFS,
		Memory: g, Loans: g.loans, Joins: g.joins, OnEvent: func(e Event) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.events = append(g.events, e.Kind)
		},
	})
	require.NoError(g, g.book.Bind(g))
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = exits.Run(ctx) })
	book := g.book
	all.Go(func() { _ = book.Run(ctx) })
	g.Cleanup(func() {
		end()
		all.Wait()
		resolver.Close()
		require.NoError(g, exits.Close())
	})
}

// program is a process that takes locks.
type program struct {
	*ground
	process.Caller
	cmd *exec.Cmd
}

func (g *ground) program() *program {
	g.Helper()
	cmd := exec.Command("sleep", "1000")
	require.NoError(g, cmd.Start())
	p := &program{g, process.Caller{TID: uint32(cmd.Process.Pid)}, cmd}
	g.Cleanup(p.kill)
	return p
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

var (
	errExists = errors.New("it exists")
	errNone   = errors.New("it does not exist")
)

// make makes a file with O_EXCL.
func (p *program) make(path string) error {
	return p.change(gate.OpCreate, Name{Path: path, Comes: true}, func() error {
		if _, there := p.files[path]; there {
			return errExists
		}
		p.inode++
		p.files[path] = File{Inode: p.inode}
		return nil
	})
}

func (p *program) remove(path string) error {
	return p.change(gate.OpUnlink, Name{Path: path}, func() error {
		if _, there := p.files[path]; !there {
			return errNone
		}
		delete(p.files, path)
		return nil
	})
}

// change is what the file system does for a change of a name.
func (p *program) change(op gate.Op, n Name, call func() error) error {
	_, n.Exists = p.Look(n.Path)
	n.Locks = p.book.Rules().At(n.Path).Locks
	turn, no, _ := p.book.Begin(Change{Op: op, Caller: p.Caller, Names: []Name{n}})
	if no != nil {
		return no
	}
	p.mu.Lock()
	err := call()
	p.mu.Unlock()
	turn.End(err == nil)
	return err
}

// write enters the guards of a path. leave ends the write.
func (p *program) write(path string) (leave func(), err error) {
	var passes []gate.Pass
	var locks []*Lock
	leave = func() {
		for i, pass := range passes {
			pass.End()
			locks[i].Done()
		}
	}
	for _, i := range p.book.Rules().At(path).Guards {
		l := p.book.Use(i)
		pass, no := l.Guard().Enter(gate.Request{Op: gate.OpWrite, Caller: p.Caller})
		if no != nil {
			l.Done()
			leave()
			return nil, no
		}
		passes, locks = append(passes, pass), append(locks, l)
	}
	return leave, nil
}

// writes requires that a write passes, and ends it.
func (p *program) writes(path string) {
	p.Helper()
	leave, err := p.write(path)
	require.NoError(p, err)
	leave()
}

// refused requires a refusal for a reason.
func (p *program) refused(why gate.Reason, err error) {
	p.Helper()
	var no *gate.Refusal
	require.ErrorAs(p, err, &no)
	require.Equal(p, why, no.Reason, no.Sentence())
	require.NotContains(p, no.Sentence()+no.Next(), "{")
}

func (p *program) refusedWrite(path, says string) {
	p.Helper()
	_, err := p.write(path)
	require.ErrorContains(p, err, says)
	require.NotContains(p, err.Error(), "{")
}

const (
	theLock = "repos/a/.lock"
	theFile = "repos/a/meta.json"
)

func TestOnlyTheHolderOfALockWritesAndGivesItUp(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	one.refusedWrite(theFile, "nobody holds its lock repos/a/.lock")
	require.NoError(t, one.make(theLock))
	one.writes(theFile)
	other.refusedWrite(theFile, "its lock repos/a/.lock is held by")
	other.writes("repos/b") // which no rule guards
	require.ErrorIs(t, other.make(theLock), errExists)
	other.refused(gate.ReasonLockHeld, other.remove(theLock))
	require.NoError(t, one.remove(theLock))
	one.refusedWrite(theFile, "nobody holds its lock")
	require.NoError(t, other.make(theLock))
	other.writes(theFile)
	one.refusedWrite(theFile, "held by")
	require.Equal(t, []EventKind{Taken, Released, Taken}, g.seen())
}

func TestWritesWithoutALockPassOnlyWhereTheRuleLetsThem(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Without = lockfile.Allow }))
	one, other := g.program(), g.program()
	one.writes(theFile)
	require.NoError(t, one.make(theLock))
	other.refusedWrite(theFile, "held by")
	require.NoError(t, one.remove(theLock))
	other.writes(theFile)
}

func TestALockThatIsTooOldIsBroken(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{After: time.Hour} }))
	slow, next, third := g.program(), g.program(), g.program()
	require.NoError(t, slow.make(theLock))
	next.refused(gate.ReasonLockHeld, next.remove(theLock))
	g.clock.ahead.Add(int64(time.Hour + time.Second))
	require.NoError(t, next.remove(theLock))
	slow.refusedWrite(theFile, "stays out until it takes it anew")
	require.NoError(t, next.make(theLock))
	slow.refused(gate.ReasonRobbed, slow.remove(theLock)) // a late release
	slow.refusedWrite(theFile, "stays out until it takes it anew")
	third.refused(gate.ReasonLockHeld, third.remove(theLock))
	next.writes(theFile)
	require.NoError(t, next.remove(theLock))
	require.NoError(t, slow.make(theLock))
	slow.writes(theFile) // it holds it anew
	require.Equal(t, []EventKind{Taken, Broken, Taken, Released, Taken}, g.seen())
}

func TestTheHoldersOwnChangeMakesTheLockYoungAgain(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{After: time.Hour} }))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	g.clock.ahead.Add(int64(50 * time.Minute))
	l := g.book.Use(g.book.Rules().At(theLock).Locks[0])
	defer l.Done()
	require.Nil(t, l.Touch(Change{Op: gate.OpOpen, Caller: one.Caller}))
	require.NotNil(t, l.Touch(Change{Op: gate.OpOpen, Caller: other.Caller}))
	g.clock.ahead.Add(int64(50 * time.Minute))
	other.refused(gate.ReasonLockHeld, other.remove(theLock))
}

// The removal of a lock waits for what its holder has in flight.
func TestABreakWaitsForWhatIsInFlight(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{After: time.Nanosecond} }))
	slow, next := g.program(), g.program()
	require.NoError(t, slow.make(theLock))
	leave, err := slow.write(theFile)
	require.NoError(t, err)
	broken := make(chan error, 1)
	go func() { broken <- next.remove(theLock) }()
	goroutines.MustBlock(t, broken, "gate.(*epoch).drain")
	_, there := g.Look(theLock)
	require.False(t, there)
	made := make(chan error, 1)
	go func() { made <- next.make(theLock) }()
	goroutines.MustBlock(t, made, "tenure.(*Lock).take")
	leave()
	require.NoError(t, <-broken)
	require.NoError(t, <-made)
}

func TestALockOfAnEndedHolderMayBeBroken(t *testing.T) {
	t.Run("is removed", func(t *testing.T) {
		g := newGround(t, agency(func(s *lockfile.Spec) { s.OnGone = lockfile.Remove }))
		one, other := g.program(), g.program()
		require.NoError(t, one.make(theLock))
		one.kill()
		require.Eventually(t, func() bool { _, there := g.Look(theLock); return !there }, time.Minute, time.Millisecond)
		require.NoError(t, other.make(theLock))
		other.writes(theFile)
	})
	t.Run("may be broken", func(t *testing.T) {
		g := newGround(t, agency(func(s *lockfile.Spec) { s.Break.Gone = true }))
		one, other := g.program(), g.program()
		require.NoError(t, one.make(theLock))
		one.kill()
		other.refusedWrite(theFile, "repos/a/.lock")
		require.NoError(t, other.remove(theLock))
		require.NoError(t, other.make(theLock))
	})
	t.Run("stays", func(t *testing.T) {
		g := newGround(t, agency(nil))
		one, other := g.program(), g.program()
		require.NoError(t, one.make(theLock))
		one.kill()
		other.refused(gate.ReasonLockStays, other.remove(theLock))
		require.Equal(t, StateGone, g.book.Locks()[0].State)
	})
}

// A lock file that nobody was seen to take guards all the same.
func TestALockThatNobodyWasSeenToTakeGuards(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) {
		s.Without, s.Break = lockfile.Allow, lockfile.Break{Gone: true, Unknown: time.Minute}
	}))
	one := g.program()
	g.has(theLock, File{Inode: 77, Mtime: 1})
	one.refusedWrite(theFile, "is left from a process")
	one.refused(gate.ReasonLockStays, one.remove(theLock))
	g.clock.ahead.Add(int64(59 * time.Second))
	g.has(theLock, File{Inode: 77, Mtime: 2}) // somebody lives: it has changed
	one.refused(gate.ReasonLockStays, one.remove(theLock))
	g.clock.ahead.Add(int64(61 * time.Second))
	require.NoError(t, one.remove(theLock))
	one.writes(theFile)
}

// A lock file that was replaced past the mount is not taken for the one that its holder made.
func TestALockReplacedPastTheMountIsNotItsHoldersAnyMore(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	g.has(theLock, File{Inode: 99})
	other.refused(gate.ReasonLockStays, other.remove(theLock))
	one.refused(gate.ReasonLockStays, one.remove(theLock))
	one.refusedWrite(theFile, "is left from a process")
	require.Contains(t, g.seen(), Bypassed)
}

// A lock file is removed past the mount, and a program makes it anew that has ended before anybody could look at it: the
// former holder is none any more.
func TestAHolderLosesALockThatAnUnknownProgramMadeAnew(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	one.writes(theFile)
	g.has(theLock, File{})
	other.kill()
	require.NoError(t, other.make(theLock))
	one.refusedWrite(theFile, "is left from a process")
	require.Contains(t, g.seen(), Unseen)
	require.Contains(t, g.seen(), Bypassed)
}

// The same if the new lock file is removed past the mount, too, before anybody could look at it.
func TestAHolderLosesALockThatWasMadeAnewAndRemovedAtOnce(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	g.has(theLock, File{})
	require.NoError(t, other.change(gate.OpCreate, Name{Path: theLock, Comes: true}, func() error { return nil }))
	one.refusedWrite(theFile, theLock)
	require.Contains(t, g.seen(), Bypassed)
}

// Another daemon knows the holders, if the lock files are the same.
func TestAnotherDaemonKnowsTheHoldersOfTheSameLockFiles(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	require.NoError(t, one.make("repos/b/.lock"))
	require.NoError(t, one.make("repos/c/.lock"))
	g.has("repos/b/.lock", File{Inode: 99})
	g.has("repos/c/.lock", File{})
	before := g.book.Locks()
	g.open(agency(nil))
	one.writes(theFile)
	other.refusedWrite(theFile, "held by")
	other.refused(gate.ReasonLockHeld, other.remove(theLock))
	other.refused(gate.ReasonLockStays, other.remove("repos/b/.lock"))
	require.NoError(t, other.make("repos/c/.lock"))
	for _, v := range g.book.Locks() {
		if v.Lock == "repos/c/.lock" {
			for _, was := range before {
				require.Greater(t, v.Tenure, was.Tenure, "numbers grow from daemon to daemon")
			}
		}
	}
}

// A daemon is killed when a lock file is there, and before anybody was told: the next one knows whose it is.
func TestTheNextDaemonKnowsATakerWhoseDaemonWasKilled(t *testing.T) {
	breakable := agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true} })
	g := newGround(t, breakable)
	one, other := g.program(), g.program()
	crash := func(path string, inode uint64, age time.Duration) {
		n := Name{Path: path, Comes: true, Locks: g.book.Rules().At(path).Locks}
		_, no, _ := g.book.Begin(Change{Op: gate.OpCreate, Caller: one.Caller, Names: []Name{n}})
		require.Nil(t, no)
		if inode != 0 {
			g.has(path, File{Inode: inode, Birth: time.Now().Add(-age).UnixNano()}) // made after the beginning, but for an age
		}
	}
	crash(theLock, 50, 0)
	crash("repos/b/.lock", 0, 0)
	crash("repos/c/.lock", 51, time.Minute)
	g.open(breakable)

	other.refused(gate.ReasonLockHeld, other.remove(theLock))
	one.writes(theFile)
	require.NoError(t, other.make("repos/b/.lock"), "nothing was made")
	other.refused(gate.ReasonLockStays, other.remove("repos/c/.lock")) // it was there before
	g.open(breakable)
	one.writes(theFile)
	one.kill()
	require.Eventually(t, func() bool { return other.remove(theLock) == nil }, time.Minute, time.Millisecond, "who finds it may break it")
}

// The same for a lock that is an older file, which gets the name by a link or a rename, also in the place of the one before.
func TestTheNextDaemonKnowsATakerByLinkOrRenameWhoseDaemonWasKilled(t *testing.T) {
	breakable := agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true} })
	older := File{Inode: 50, Birth: time.Now().Add(-time.Minute).UnixNano()}
	for name, c := range map[string]struct {
		op    gate.Op
		over  bool // a lock of its own
		taken bool // the call was made before the crash
	}{
		"link": {gate.OpLink, false, true}, "rename": {gate.OpRename, false, true}, "renewal": {gate.OpRename, true, true},
		"no link": {gate.OpLink, false, false}, "no rename": {gate.OpRename, false, false}, "no renewal": {gate.OpRename, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, breakable)
			one, other := g.program(), g.program()
			g.has("repos/a/tmp", older)
			if c.over {
				require.NoError(t, one.make(theLock))
			}
			n := Name{Path: theLock, Comes: true, Exists: c.over, Locks: g.book.Rules().At(theLock).Locks, File: older}
			_, no, _ := g.book.Begin(Change{Op: c.op, Caller: one.Caller, Names: []Name{n}, From: "repos/a/tmp"})
			require.Nil(t, no)
			if c.taken {
				g.has(theLock, older)
			}
			g.open(breakable)
			if !c.taken && !c.over {
				require.NoError(t, other.make(theLock))
				other.writes(theFile)
				return
			}
			other.refused(gate.ReasonLockHeld, other.remove(theLock))
			one.writes(theFile)
			one.kill()
			require.Eventually(t, func() bool { return other.remove(theLock) == nil }, time.Minute, time.Millisecond, "who finds it may break it")
		})
	}
}

// Somebody was about to put another file in the place of a lock that was left. The daemon was killed, and a third file is there.
func TestARenewalThatWasNotMadeGivesNobodyTheLock(t *testing.T) {
	breakable := agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true} })
	g := newGround(t, breakable)
	one, other := g.program(), g.program()
	g.has("repos/a/tmp", File{Inode: 50})
	n := Name{Path: theLock, Comes: true, Locks: g.book.Rules().At(theLock).Locks}
	_, no, _ := g.book.Begin(Change{Op: gate.OpRename, Caller: one.Caller, Names: []Name{n}, From: "repos/a/tmp"})
	require.Nil(t, no)
	g.has(theLock, File{Inode: 51})
	g.open(breakable)
	one.refusedWrite(theFile, "is left from a process")
	other.refused(gate.ReasonLockStays, other.remove(theLock))
}

// A daemon is killed when a broken lock is gone from its former holder, and before the next one is noted.
func TestTheNextDaemonKnowsABreakerWhoseDaemonWasKilled(t *testing.T) {
	breakable := agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true} })
	g := newGround(t, breakable)
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	one.kill()
	g.has("repos/a/tmp", File{Inode: 50})
	n := Name{Path: theLock, Comes: true, Exists: true, Locks: g.book.Rules().At(theLock).Locks}
	_, no, _ := g.book.Begin(Change{Op: gate.OpRename, Caller: other.Caller, Names: []Name{n}, From: "repos/a/tmp"})
	require.Nil(t, no)
	g.has(theLock, File{Inode: 50})
	l := g.book.Use(n.Locks[0])
	l.end(lease.LossSuperseded)
	l.Done()
	g.open(breakable)
	other.writes(theFile)
}

// One's lock file is removed past the mount just when it is made, and the next one's maker is not known: the first is not
// taken for it.
func TestAnIntentionToTakeALockEndsWithItsCall(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.change(gate.OpCreate, Name{Path: theLock, Comes: true}, func() error { return nil }))
	require.Empty(t, g.kept)
	other.kill()
	require.NoError(t, other.make(theLock))
	require.Empty(t, g.kept)
	g.open(agency(nil))
	one.refusedWrite(theFile, "is left from a process")
	one.refused(gate.ReasonLockStays, one.remove(theLock))
}

// Nothing is kept of who wanted to take a lock and could not.
func TestNothingIsKeptOfALockThatWasNotTaken(t *testing.T) {
	g := newGround(t, agency(nil))
	one := g.program()
	n := Name{Path: theLock, Comes: true, Locks: g.book.Rules().At(theLock).Locks}
	turn, no, _ := g.book.Begin(Change{Op: gate.OpCreate, Caller: one.Caller, Names: []Name{n}})
	require.Nil(t, no)
	require.Len(t, g.kept, 1)
	turn.End(false)
	require.Empty(t, g.kept)
}

// Whoever asks whether a holder has ended does not end its tenure.
func TestALivingHolderIsLeftAlone(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.OnGone = lockfile.Remove }))
	one := g.program()
	require.NoError(t, one.make(theLock))
	l := g.book.Use(g.book.Rules().At(theLock).Locks[0])
	defer l.Done()
	l.lookAfter(t.Context())
	one.writes(theFile)
	_, there := g.Look(theLock)
	require.True(t, there)
}

// Eight programs take, break and give up one lock, as badly as they can. Two never write at once.
func TestNeverTwoHolders(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true, After: time.Microsecond} }))
	var writing atomic.Int64
	var all sync.WaitGroup
	var wrote atomic.Int64
	for range 8 {
		p := g.program()
		all.Go(func() {
			for range 200 {
				_ = p.remove(theLock) // whoever's it is
				_ = p.make(theLock)
				leave, err := p.write(theFile)
				if err != nil {
					continue
				}
				if n := writing.Add(1); n != 1 {
					t.Errorf("%d write at once", n)
				}
				wrote.Add(1)
				writing.Add(-1)
				leave()
				_ = p.remove(theLock)
			}
		})
	}
	all.Wait()
	require.Positive(t, wrote.Load())
}

// A rename of two locks, in both directions at once, ends.
func TestRenamesOfTwoLocksInBothDirectionsEnd(t *testing.T) {
	g := newGround(t, agency(nil))
	p := g.program()
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for range 500 {
				names := []Name{{Path: "repos/a/.lock"}, {Path: "repos/b/.lock", Comes: true}}
				for i := range names {
					names[i].Locks = g.book.Rules().At(names[i].Path).Locks
				}
				names[0], names[1] = names[i], names[1-i]
				turn, no, _ := g.book.Begin(Change{Op: gate.OpRename, Caller: p.Caller, Names: names})
				if no != nil {
					t.Error(no)
				}
				turn.End(false)
			}
		})
	}
	all.Wait()
}

// A directory stays where it is while a lock below is held.
func TestADirectoryWithAHeldLockCannotBeMoved(t *testing.T) {
	g := newGround(t, agency(nil))
	one := g.program()
	move := func() *gate.Refusal {
		turn, no, _ := g.book.Begin(Change{Op: gate.OpRename, Caller: one.Caller, Names: []Name{{Path: "repos", Exists: true, IsDir: true}, {Path: "old", Comes: true}}})
		turn.End(no == nil)
		return no
	}
	require.Nil(t, move())
	require.NoError(t, one.make(theLock))
	no := move()
	require.NotNil(t, no)
	require.Equal(t, gate.ReasonLockBelow, no.Reason)
	require.NoError(t, one.remove(theLock))
	require.Nil(t, move())
}

// What nobody uses is forgotten, and never what somebody holds or uses.
func TestUnusedLocksAreForgotten(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Without = lockfile.Allow }))
	one := g.program()
	require.NoError(t, one.make(theLock))
	used := g.book.Use(g.book.Rules().At("repos/used/x").Guards[0])
	for i := range 3 * locksMax {
		one.writes(fmt.Sprintf("repos/r%d/f", i))
	}
	require.LessOrEqual(t, len(g.book.all), locksMax+1)
	require.Same(t, used, g.book.Use(used.Instance))
	other := g.program()
	other.refusedWrite(theFile, "held by")
}

// A mount that observes tells, and lets through.
func TestObserveModeTellsAndLetsThrough(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	require.NoError(t, g.book.cfg.Enforcement.Switch(context.Background(), gate.Observing, func() []*gate.Guard { return nil }))
	other.writes(theFile)
	require.NoError(t, other.remove(theLock))
	require.NoError(t, other.make(theLock))
	require.Equal(t, []EventKind{Taken, Broken, Taken}, g.seen())
}
