package tenure

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// sequences is how many are drawn at random, besides those that have failed once.
const sequences = 200

// Whatever programs do to a lock file, by the mount or past it, and wherever the daemon is killed: who may write, and whose
// change of the name passes, is what the table of jvsfs-rules(7) says. JVSFS_SEED repeats one sequence.
func TestEverySequenceOfLockOperationsIsJudgedByTheTable(t *testing.T) {
	seeds := []uint64{1, 2, 3} // those that have failed go here
	if text := os.Getenv("JVSFS_SEED"); text != "" {
		one, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seeds = []uint64{one}
	} else {
		for range sequences {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { newSequence(t, seed).run() }) {
			t.Fatalf("JVSFS_SEED=%d", seed)
		}
	}
}

// sequence is a lock as it is, and as it must be.
type sequence struct {
	*ground
	rng  *rand.Rand
	rule lockfile.Spec
	all  []*program
	did  []string

	file    File // what lies at the name
	held    *program
	of      File // of held
	renewed time.Duration
	robbed  map[*program]bool
	ended   map[*program]bool
	since   time.Duration // when an unknown file was seen first
	known   File          // as it was then
}

func newSequence(t *testing.T, seed uint64) *sequence {
	s := &sequence{rng: rand.New(rand.NewPCG(seed, 1)), robbed: map[*program]bool{}, ended: map[*program]bool{}}
	s.rule = agency(func(r *lockfile.Spec) {
		r.Break = lockfile.Break{Gone: true, After: time.Hour, Unknown: time.Minute}
		if s.rng.IntN(2) == 0 {
			r.Without = lockfile.Allow
		}
	})
	s.ground = newGround(t, s.rule)
	for range 2 {
		s.all = append(s.all, s.program())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.did)
		}
	})
	return s
}

func (s *sequence) run() {
	acts := []struct {
		name string
		do   func(*program)
	}{
		{"make", s.make}, {"make", s.make}, {"rename", s.rename}, {"remove", s.remove}, {"remove", s.remove},
		{"bypass", s.bypass}, {"wait", s.wait}, {"end", s.end}, {"crash", s.crash}, {"cut off", s.cutOff},
	}
	for range 12 {
		a, who := acts[s.rng.IntN(len(acts))], s.rng.IntN(len(s.all))
		s.did = append(s.did, a.name+" "+strconv.Itoa(who))
		a.do(s.all[who])
		for _, p := range s.all {
			s.compare(p)
		}
	}
}

// compare holds a write against what must be.
func (s *sequence) compare(p *program) {
	s.Helper()
	if s.held == nil && s.file != s.known {
		s.known, s.since = s.file, s.clock.Boot()
	}
	if s.ended[p] {
		return
	}
	leave, err := p.write(theFile)
	may := s.held == p || s.held == nil && s.file == (File{}) && s.rule.Without == lockfile.Allow && !s.robbed[p]
	require.Equal(s, may, err == nil, "%v: %v", s.did, err)
	if err == nil {
		leave()
	}
}

func (s *sequence) newFile(age time.Duration) File {
	s.inode++
	return File{Inode: s.inode, Birth: time.Now().Add(-age).UnixNano()}
}

// verdict is what must become of an act on the lock that is there.
func (s *sequence) verdict(p *program, takes bool) lockfile.Outcome {
	if s.held != nil && s.of != s.file {
		s.held = nil
		s.known, s.since = s.file, s.clock.Boot()
	}
	mine, robbed := s.held == p && !s.ended[p], s.robbed[p] && !s.ended[p] // who has ended is nobody
	switch {
	case mine && takes:
		return lockfile.Releases
	case mine:
		return lockfile.Renews
	case s.held != nil && s.ended[s.held]:
		return lockfile.Breaks
	case robbed:
		return lockfile.Refused
	case s.held != nil && s.clock.Boot()-s.renewed > time.Hour, s.held == nil && s.clock.Boot()-s.since >= time.Minute:
		return lockfile.Breaks
	}
	return lockfile.Refused
}

// took is what must be when the file has come to the name.
func (s *sequence) took(p *program, f File) {
	s.file, s.held, s.of, s.renewed = f, p, f, s.clock.Boot()
	if delete(s.robbed, p); s.ended[p] {
		s.held = nil
	}
}

func (s *sequence) broken() {
	if s.held != nil {
		s.robbed[s.held] = true
	}
	s.held = nil
}

// make makes the lock with O_EXCL, or by a link of an older file.
func (s *sequence) make(p *program) {
	n, op, f := Name{Path: theLock, Comes: true}, gate.OpCreate, s.newFile(0)
	if s.rng.IntN(2) == 0 {
		op, f = gate.OpLink, s.newFile(time.Minute)
		n.File = f
	}
	err := p.change(op, n, func() error {
		if _, there := s.files[theLock]; there {
			return errExists
		}
		s.files[theLock] = f
		return nil
	})
	require.Equal(s, s.file == File{}, err == nil, "%v: %v", s.did, err)
	if err == nil {
		s.took(p, f)
	}
}

const ownFile = "repos/own"

// rename puts a file of one's own at the name.
func (s *sequence) rename(p *program) {
	f := s.newFile(time.Minute)
	s.has(ownFile, f)
	turn, out, done := s.beginRename(p)
	if !done {
		return
	}
	s.has(theLock, f)
	turn.End(true)
	s.renamed(p, out, f)
}

func (s *sequence) renamed(p *program, out lockfile.Outcome, f File) {
	if out == lockfile.Renews {
		s.file, s.of, s.renewed = f, f, s.clock.Boot()
		return
	}
	s.took(p, f)
}

func (s *sequence) beginRename(p *program) (turn *Turn, out lockfile.Outcome, ok bool) {
	n := Name{Path: theLock, Comes: true, Exists: s.file != File{}, Locks: s.book.Rules().At(theLock).Locks}
	turn, no, _ := s.book.Begin(Change{Op: gate.OpRename, Caller: p.Caller, Names: []Name{n}, From: ownFile})
	if out = lockfile.Passes; n.Exists {
		out = s.verdict(p, false)
	}
	require.Equal(s, out == lockfile.Refused, no != nil, "%v: %v", s.did, no)
	if no == nil && out == lockfile.Breaks {
		s.broken()
	}
	return turn, out, no == nil
}

func (s *sequence) remove(p *program) {
	err := p.remove(theLock)
	if s.file == (File{}) {
		require.ErrorIs(s, err, errNone)
		return
	}
	out := s.verdict(p, true)
	require.Equal(s, out == lockfile.Refused, err != nil, "%v: %v", s.did, err)
	switch out {
	case lockfile.Refused:
		return
	case lockfile.Breaks:
		s.broken()
	}
	s.file, s.held = File{}, nil
}

// bypass removes or replaces the file past the mount.
func (s *sequence) bypass(*program) {
	if s.file = s.newFile(0); s.rng.IntN(2) == 0 {
		s.file = File{}
	}
	s.has(theLock, s.file)
}

func (s *sequence) wait(*program) {
	s.clock.ahead.Add(int64([]time.Duration{2 * time.Minute, 61 * time.Minute}[s.rng.IntN(2)]))
}

// end ends a program. Its requests are still there: they come from nobody who can be told.
func (s *sequence) end(p *program) {
	p.kill()
	s.ended[p] = true
	s.all = append(s.all, s.program())
}

// crash has another daemon go on.
func (s *sequence) crash(*program) {
	s.open(s.rule)
	s.known = File{}
	if s.held != nil && s.of != s.file {
		s.held = nil
	}
}

// cutOff kills the daemon when a call was made, or just before, and before that is noted.
func (s *sequence) cutOff(p *program) {
	made := s.rng.IntN(2) == 0
	f := s.newFile(time.Minute)
	s.has(ownFile, f)
	held, robbed := s.held, s.robbed[s.held]
	_, out, ok := s.beginRename(p)
	if !ok {
		return
	}
	if s.held = held; !robbed {
		delete(s.robbed, held) // that was not noted
	}
	if held != nil && s.of != s.file {
		s.held = nil
	}
	if made {
		s.has(theLock, f)
		s.renamed(p, out, f)
	}
	s.crash(p)
}
