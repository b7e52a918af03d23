package lockfiles

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a real directory with rules, and no mount.
type source struct {
	*testing.T
	*Policy
	root     string
	resolver *gate.Resolver
	replaced bool
	told     []gate.Reason // refusals of the book
	expired  []string
}

func (s *source) PathOf(i tree.Inode) (string, bool) { return s.tree.Path(i.FD()) }
func (s *source) Replaced() bool                     { return s.replaced }
func (s *source) Expire(_ tree.Key, name string)     { s.expired = append(s.expired, name) }
func (s *source) Prepare(*gate.Guard)                {}

// theRules have a lock with what it guards, one by flock, and what is fixed.
var theRules = []lockfile.Spec{
	{Name: "agency", Lock: "repos/{repo}/.lock", TakenBy: lockfile.ByCreate, Guards: []string{"repos/{repo}/**"}, Except: []string{"repos/{repo}/.lock"}},
	{Name: "index", Lock: "flocked/.lock", TakenBy: lockfile.ByFlock, Guards: []string{"flocked/**"}, Except: []string{"flocked/.lock"}},
	{Name: "once", Once: []string{"once/*"}},
	{Name: "keep", Keep: []string{"keep/*"}},
	{Name: "log", Append: []string{"log/*"}},
}

func newSource(t *testing.T, files ...string) *source {
	t.Helper()
	s := &source{T: t, root: t.TempDir()}
	for _, name := range append(files, "other") {
		path := filepath.Join(s.root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o644))
	}
	rules, mistakes := lockfile.Compile(theRules)
	require.Empty(t, mistakes)
	exits, err := process.NewExitWatch()
	require.NoError(t, err)
	clock := lease.SystemClock()
	s.resolver = gate.NewResolver(clock)
	mode := gate.NewEnforcement(gate.Enforcing)
	book := tenure.New(tenure.Config{
		Rules: rules, Worktree: "w", Enforcement: mode, Resolver: s.resolver, Exits: exits, Clock: clock, Errno: syscall.EROFS,
		OnRefusal: func(no *gate.Refusal) { s.told = append(s.told, no.Reason) },
	})
	root, err := unix.Open(s.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	s.Policy = New(book, tree.New(root, proc, true), s, mode)
	require.NoError(t, s.Bind())
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = exits.Run(ctx) })
	all.Go(func() { _ = book.Run(ctx) })
	t.Cleanup(func() {
		book.EndWindows()
		end()
		all.Wait()
		s.resolver.Close()
		require.NoError(t, exits.Close())
		_, _ = unix.Close(root), unix.Close(proc)
	})
	return s
}

// inode is what lies at a path.
type inode struct {
	tree.Inode // of which nothing else is asked
	fd         int
	st         unix.Stat_t
	being      bool
}

func (i *inode) Key() tree.Key   { return tree.KeyOf(&i.st) }
func (i *inode) FD() int         { return i.fd }
func (i *inode) IsDir() bool     { return i.st.Mode&unix.S_IFMT == unix.S_IFDIR }
func (i *inode) BeingMade() bool { return i.being }

func (s *source) inode(rel string) *inode {
	s.Helper()
	fd, err := unix.Open(filepath.Join(s.root, rel), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	require.NoError(s, err)
	i := &inode{fd: fd}
	require.NoError(s, unix.Fstat(fd, &i.st))
	s.Cleanup(func() { _ = unix.Close(fd) })
	return i
}

func (s *source) engineName(rel string) engine.Name {
	s.Helper()
	return engine.Name{Dir: s.inode(filepath.Dir(rel)), Name: filepath.Base(rel)}
}

func (s *source) name(rel string) Name {
	s.Helper()
	return s.Name(s.engineName(rel))
}

// program is a process that changes files.
func (s *source) program() process.Caller {
	s.Helper()
	cmd := exec.Command("sleep", "1000")
	require.NoError(s, cmd.Start())
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return process.Caller{TID: uint32(cmd.Process.Pid)}
}

// takes makes a lock file for a caller.
func (s *source) takes(c process.Caller, rel string) error {
	turn, err := s.Turn(nil, gate.OpCreate, c, []Name{s.name(rel)}, nil)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(s.root, rel), nil, 0o644)
	turn.End(err == nil)
	return err
}

// opens opens a window for a caller.
func (s *source) opens(c process.Caller, rel string) (*tenure.Window, error) {
	h, err := s.resolver.LockHolder(c, lockfile.Tree)
	require.NoError(s, err)
	ctx, end := context.WithTimeout(s.Context(), 100*time.Millisecond)
	defer end()
	return s.book.Open(ctx, tenure.Opening{Path: rel, Holder: h, Lasts: time.Hour, By: c, Record: func(tenure.WindowView) error { return nil }})
}

// why is the reason of a refusal, and its rule.
func why(t *testing.T, err error) (gate.Reason, string) {
	t.Helper()
	if err == nil {
		return 0, ""
	}
	var no *gate.Refusal
	require.ErrorAs(t, err, &no)
	return no.Reason, no.Lock.Rule
}

// Of what lies deeper than a path reaches no rule can be asked, so nobody changes it. Whoever may move a directory could take it there.
func TestWhatLiesTooDeepIsNotChanged(t *testing.T) {
	s := newSource(t, "keep/a")
	deep := s.inode("")
	for range 17 {
		name := strings.Repeat("n", 250)
		require.NoError(t, unix.Mkdirat(deep.fd, name, 0o755))
		fd, err := unix.Openat(deep.fd, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		deep = &inode{fd: fd, st: unix.Stat_t{Mode: unix.S_IFDIR}}
	}
	in, c := engine.Name{Dir: deep, Name: "a"}, s.program()
	_, err := s.FixedName(gate.OpUnlink, c, s.Name(in))
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	_, err = s.FixedName(gate.OpRename, c, s.Names(s.engineName("other"), in, false)[1])
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	_, err = s.FixedInode(gate.OpSetAttr, c, deep, s.Place(deep))
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	_, err = s.GuardsOfLink(s.inode("other"), s.Name(in))
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	lost := s.inode("keep/a")
	require.NoError(t, os.Remove(filepath.Join(s.root, "keep/a")))
	_, err = s.FixedInode(gate.OpSetAttr, c, lost, s.Place(lost))
	require.NoError(t, err, "what has lost its name is under no rule")
}

func TestWhatIsFixedKeepsItsName(t *testing.T) {
	s := newSource(t, "once/a", "keep/a", "log/a", "repos/a/f")
	for _, c := range []struct {
		op   gate.Op
		path string
		why  gate.Reason
		rule string
	}{
		{gate.OpRename, "once/a", gate.ReasonOnce, "once"},
		{gate.OpUnlink, "once/a", 0, ""}, // a collector of garbage
		{gate.OpCreate, "once/new", 0, ""},
		{gate.OpRename, "keep/a", gate.ReasonKeep, "keep"},
		{gate.OpUnlink, "keep/a", gate.ReasonKeep, "keep"},
		{gate.OpRename, "log/a", gate.ReasonAppend, "log"},
		{gate.OpUnlink, "log/a", gate.ReasonAppend, "log"},
		{gate.OpUnlink, "repos/a/f", 0, ""},
		{gate.OpUnlink, "other", 0, ""},
	} {
		over, err := s.FixedName(c.op, s.program(), s.name(c.path))
		reason, rule := why(t, err)
		require.Equal(t, []any{c.why, c.rule}, []any{reason, rule}, "%v %s", c.op, c.path)
		require.False(t, over.InWindow())
		over.Drop()
	}
}

func TestAFileIsFixedWhenNobodyIsMakingItAnyMore(t *testing.T) {
	s := newSource(t, "once/a", "keep/a", "log/a")
	of := func(i *inode) error {
		over, err := s.FixedInode(gate.OpWrite, s.program(), i, s.Place(i))
		over.Drop()
		return err
	}
	once := s.inode("once/a")
	reason, _ := why(t, of(once))
	require.Equal(t, gate.ReasonOnce, reason)
	once.being = true
	require.NoError(t, of(once))
	for _, path := range []string{"keep/a", "log/a", "other"} { // whose content rules do not fix, or only below its end
		require.NoError(t, of(s.inode(path)), path)
	}
}

func TestAFileThatGrowsIsNotChangedBelowItsEnd(t *testing.T) {
	s := newSource(t, "log/a")
	log, me := s.inode("log/a"), s.program()
	r := s.Growing(log)
	require.Equal(t, "log", r.Name)
	require.Nil(t, s.Growing(s.inode("other")))
	require.NoError(t, s.Grows(gate.OpWrite, me, log, r, log.fd, 10))
	reason, _ := why(t, s.Grows(gate.OpWrite, me, log, r, log.fd, 9))
	require.Equal(t, gate.ReasonAppend, reason)
	s.replaced = true // so that another daemon may have moved the end
	reason, _ = why(t, s.Grows(gate.OpWrite, me, log, r, log.fd, 10))
	require.Equal(t, gate.ReasonAppend, reason)
}

func TestAFurtherNameIsUnderTheSameRules(t *testing.T) {
	s := newSource(t, "once/a", "keep/a", "log/a", "repos/a/f", "repos/b/f")
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"other", "another", nil},
		{"other", "once/new", nil}, // as git makes its objects
		{"once/a", "another", unix.EXDEV},
		{"once/a", "once/new", nil},
		{"log/a", "another", unix.EXDEV},
		{"other", "log/new", unix.EXDEV},
		{"log/a", "log/new", nil},
		{"repos/a/f", "repos/a/g", nil},
		{"repos/a/f", "repos/b/g", unix.EXDEV},
		{"repos/a/f", "another", unix.EXDEV},
		{"other", "repos/a/.lock", nil}, // a lock guards nothing
	} {
		all, err := s.GuardsOfLink(s.inode(c.from), s.name(c.to))
		require.Equal(t, c.want, err, "%s %s", c.from, c.to)
		all.Drop()
	}
}

// gates are the gates of guards that refuse a caller, and how many there are.
func gates(all Guards, c process.Caller) (refused, whole int) {
	for _, g := range all {
		if g.Gate() == nil {
			continue
		}
		whole++
		pass, no := g.Gate().Enter(gate.Request{Op: gate.OpWrite, Caller: c})
		if no != nil {
			refused++
			continue
		}
		pass.End()
	}
	return refused, whole
}

func TestALockGuardsNamesInodesAndTheDirectoryAbove(t *testing.T) {
	s := newSource(t, "repos/a/f", "repos/b/f")
	holder, other := s.program(), s.program()
	require.NoError(t, s.takes(holder, "repos/a/.lock"))
	f := s.inode("repos/a/f")
	for what, all := range map[string]Guards{
		"a name":                  s.Guards(gate.OpUnlink, s.name("repos/a/f")),
		"an inode":                s.GuardsOfInode(gate.OpWrite, s.Place(f)),
		"the directory":           s.Guards(gate.OpRmdir, s.name("repos/a")),
		"both names under a lock": s.GuardsOfRename(nil, s.names("repos/a/f", "repos/a/g")),
	} {
		refused, whole := gates(all, holder)
		require.Equal(t, []int{0, 1}, []int{refused, whole}, what)
		refused, _ = gates(all, other)
		require.Equal(t, 1, refused, what)
		all.Drop()
	}
	all := s.GuardsOfRename(nil, s.names("repos/a/f", "repos/b/f"))
	refused, whole := gates(all, holder) // the lock of b is nobody's
	require.Equal(t, []int{1, 2}, []int{refused, whole})
	all.Drop()
	require.Empty(t, s.GuardsOfInode(gate.OpTmpfile, s.Place(s.inode("repos/a"))))
}

func (s *source) names(old, next string) [2]Name {
	return s.Names(s.engineName(old), s.engineName(next), false)
}

func TestALockOfALivingHolderChangesHandsWithItAlone(t *testing.T) {
	s := newSource(t, "repos/a/f")
	holder, other := s.program(), s.program()
	require.NoError(t, s.takes(holder, "repos/a/.lock"))
	lock := s.name("repos/a/.lock")
	_, err := s.Turn(nil, gate.OpUnlink, other, nil, []Name{lock})
	require.Equal(t, engine.Told{Errno: syscall.EROFS}, err)
	require.Equal(t, []gate.Reason{gate.ReasonLockHeld}, s.told)
	i := s.inode("repos/a/.lock")
	over, err := s.FixedInode(gate.OpWrite, other, i, s.Place(i))
	require.Equal(t, engine.Told{Errno: syscall.EROFS}, err)
	over.Drop()
	_, err = s.FixedInode(gate.OpWrite, holder, i, s.Place(i))
	require.NoError(t, err)
	turn, err := s.Turn(nil, gate.OpUnlink, holder, nil, []Name{lock})
	require.NoError(t, err)
	turn.End(false)
	none, err := s.Turn(nil, gate.OpUnlink, other, nil, []Name{s.name("other")})
	require.NoError(t, err)
	require.Nil(t, none, "it is no lock")
}

func TestAWindowDecidesWhatRulesFixAndNotTheRules(t *testing.T) {
	s := newSource(t, "once/a", "keep/a", "log/a")
	me, other := s.program(), s.program()
	in, err := s.FixedName(gate.OpCreate, me, s.name("once/new"))
	require.NoError(t, err)
	_, err = s.opens(me, "once/a")
	require.ErrorContains(t, err, "writes in flight did not end in time", "a change is counted until it is dropped")
	in.Drop()
	for _, path := range []string{"once/a", "log/a"} {
		_, err = s.opens(me, path)
		require.NoError(t, err)
	}
	once := s.inode("once/a")
	byName, err := s.FixedName(gate.OpRename, other, s.name("once/a"))
	require.NoError(t, err)
	byInode, err := s.FixedInode(gate.OpWrite, other, once, s.Place(once))
	require.NoError(t, err)
	for _, all := range []Guards{byName, byInode, s.Windows(s.inode("log/a"))} {
		require.True(t, all.InWindow())
		mine, whole := gates(all, me)
		others, _ := gates(all, other)
		require.Equal(t, []int{0, 1, 1}, []int{mine, others, whole})
		all.Drop()
	}
	elsewhere := s.Windows(s.inode("keep/a"))
	require.False(t, elsewhere.InWindow())
	elsewhere.Drop()
}

func TestAFlockBeginsATenureAndEndsIt(t *testing.T) {
	s := newSource(t, "flocked/.lock", "flocked/f")
	holder, other := s.program(), s.program()
	lock, f := s.inode("flocked/.lock"), s.inode("flocked/f")
	require.True(t, s.IsFlocked(lock))
	require.False(t, s.IsFlocked(f))
	require.NoError(t, s.MayFlock(lock, holder))
	require.Nil(t, s.BeginFlock(s.Flocked(lock), lock, holder, 7, 1))
	require.True(t, s.HasFlock(7))
	all := s.GuardsOfInode(gate.OpWrite, s.Place(f))
	defer all.Drop()
	mine, _ := gates(all, holder)
	others, _ := gates(all, other)
	require.Equal(t, []int{0, 1}, []int{mine, others})
	s.EndFlock(7, 2) // of another owner
	require.True(t, s.HasFlock(7))
	s.EndFlock(7, 1)
	require.False(t, s.HasFlock(7))
	mine, _ = gates(all, holder)
	require.Equal(t, 1, mine)
	w, err := s.opens(other, "flocked/.lock")
	require.NoError(t, err)
	require.Equal(t, engine.Told{Errno: syscall.EROFS}, s.MayFlock(lock, holder))
	no := s.BeginFlock(s.Flocked(lock), lock, holder, 7, 1)
	require.NotNil(t, no, "a window was opened meanwhile")
	w.Close(other)
	require.NoError(t, os.Remove(filepath.Join(s.root, "flocked/.lock")))
	require.False(t, s.IsFlocked(lock), "it has lost its name")
}

func TestALockFileIsRemovedOnlyIfItIsTheVeryFile(t *testing.T) {
	s := newSource(t, "repos/a/.lock", "repos/b/x")
	in := (*files)(s.Policy)
	is, there := in.Look("repos/a/.lock")
	require.True(t, there)
	other, there := in.Look("other")
	require.True(t, there)
	require.NoError(t, in.Remove("repos/a/.lock", other))
	require.FileExists(t, filepath.Join(s.root, "repos/a/.lock"))
	require.NoError(t, in.Remove("repos/a/.lock", is))
	require.NoFileExists(t, filepath.Join(s.root, "repos/a/.lock"))
	require.NoError(t, os.Symlink("b", filepath.Join(s.root, "repos/c")))
	_, there = in.Look("repos/c/x")
	require.False(t, there, "no symbolic link is followed")
	in.Forget("repos/a/.lock")
	in.Forget("nowhere/.lock")
	require.Equal(t, []string{".lock"}, s.expired)
}

func TestWhatIsCoveredIsNamedByItsRule(t *testing.T) {
	s := newSource(t, "repos/a/f", "once/a", "plain/f")
	for _, c := range []struct {
		op         gate.Op
		path, rule string
	}{
		{gate.OpUnlink, "repos/a/f", "agency"}, {gate.OpCreate, "repos/a/.lock", "agency"}, {gate.OpUnlink, "once/a", "once"},
		{gate.OpUnlink, "other", ""}, {gate.OpRename, "plain/f", ""}, {gate.OpRmdir, "plain", ""},
		{gate.OpRmdir, "repos/a", "agency"},
		{gate.OpRename, "plain", "agency"}, // what lies below it is not known
	} {
		by := s.CoverOfNames(c.op, []Name{s.moved(c.op, c.path)})
		if c.rule == "" {
			require.Nil(t, by, c.path)
			continue
		}
		require.NotNil(t, by, c.path)
		require.Equal(t, gate.LockFile{Rule: c.rule, Path: c.path}, *by)
	}
	require.Equal(t, "once", s.CoverOfInode(gate.OpSetAttr, s.inode("once/a")).Rule)
	require.Nil(t, s.CoverOfInode(gate.OpSetAttr, s.inode("other")))
}

// moved looks at a name as a call of its kind does.
func (s *source) moved(op gate.Op, rel string) Name {
	if op == gate.OpRename {
		return s.names(rel, "elsewhere")[0]
	}
	return s.name(rel)
}

func TestAMountWithoutRulesIsAskedNothing(t *testing.T) {
	s := newSource(t)
	var none *Policy
	i := s.inode("other")
	require.Equal(t, Name{}, none.Name(s.engineName("other")))
	require.Equal(t, Place{}, none.Place(i))
	require.Nil(t, none.Growing(i))
	require.False(t, none.IsFlocked(i))
	require.False(t, none.HasFlock(1))
	none.EndFlock(1, 1)
	require.NoError(t, none.MayFlock(i, process.Caller{}))
	over, err := none.FixedName(gate.OpUnlink, process.Caller{}, Name{})
	require.NoError(t, err)
	require.Empty(t, over)
	all, err := none.GuardsOfLink(i, Name{})
	require.NoError(t, err)
	require.Empty(t, append(all, none.Guards(gate.OpUnlink, Name{})...))
	require.Empty(t, none.GuardsOfInode(gate.OpWrite, Place{}))
}
