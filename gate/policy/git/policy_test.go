package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// commonDir is the common directory of a repository, as the kernel knows it.
func commonDir(t *testing.T, g *Repository, source string) inode {
	t.Helper()
	fd, err := unix.Open(filepath.Join(source, ".git"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return inode{fd: fd, role: g.opts.Layout.Entry(g.opts.Layout.Root().Role, ".git").Role}
}

// does makes a change of names as a mount makes it, and tells whether the repository was held, and the names of lock files.
func (g *Repository) does(t *testing.T, m engine.Mutation, call func() error) (held []bool) {
	t.Helper()
	var h engine.Held
	a, err := engine.Policies{g}.Admit(m, &h, func(error) bool { return false })
	require.NoError(t, err)
	require.NoError(t, call())
	if m.Op == gate.OpCreate {
		st, ok := tree.Stat(m.Names[0].Dir.FD(), m.Names[0].Name)
		require.True(t, ok)
		a.Made(tree.KeyOf(&st))
	}
	held = []bool{h.Has(engine.Repository), h.Has(engine.LockFiles)}
	a.Done()
	a.Drop()
	h.Release()
	return held
}

// A lock file is its maker's from when it is made until it is renamed or removed. Nobody else takes it away meanwhile, or changes it.
func TestALockFileIsItsMakersUntilItGoes(t *testing.T) {
	g, source := newRepository(t, nil)
	dir := commonDir(t, g, source)
	living := exec.Command("sleep", "60")
	require.NoError(t, living.Start())
	defer func() { _, _ = living.Process.Kill(), living.Wait() }()
	maker, stranger := process.Caller{TID: uint32(living.Process.Pid)}, process.Caller{TID: 1}
	at := func(name string) engine.Name { return engine.Name{Dir: dir, Name: name} }
	path := func(name string) string { return filepath.Join(source, ".git", name) }
	makes := func(name string) {
		held := g.does(t, engine.Mutation{Op: gate.OpCreate, Caller: maker, Names: []engine.Name{at(name)}}, func() error { return os.WriteFile(path(name), nil, 0o644) })
		require.Equal(t, []bool{true, false}, held)
	}
	refused := func(m engine.Mutation) int {
		err := g.Ask(&m)
		if err == nil {
			return 0
		}
		no := &gate.Refusal{}
		require.ErrorAs(t, err, &no)
		require.Equal(t, gate.ReasonKept, no.Reason)
		if all, joined := err.(interface{ Unwrap() []error }); joined {
			return len(all.Unwrap())
		}
		return 1
	}
	rename := func(from, to string) engine.Mutation {
		return engine.Mutation{Op: gate.OpRename, Caller: stranger, Names: []engine.Name{at(from), at(to)}}
	}

	makes("index.lock")
	makes("HEAD.lock")
	require.Len(t, g.locks.of, 2)
	require.Equal(t, 1, refused(engine.Mutation{Op: gate.OpUnlink, Caller: stranger, Names: []engine.Name{at("index.lock")}}))
	require.Equal(t, 0, refused(engine.Mutation{Op: gate.OpUnlink, Caller: maker, Names: []engine.Name{at("index.lock")}}))
	require.Equal(t, 1, refused(rename("index.lock", "x")))
	require.Equal(t, 1, refused(rename("x", "HEAD.lock")))
	require.Equal(t, 2, refused(rename("index.lock", "HEAD.lock")), "a mount that only observes tells both")
	st, _ := tree.Stat(dir.fd, "index.lock")
	require.Equal(t, 1, refused(engine.Mutation{Op: gate.OpSetAttr, Caller: stranger, Inode: inode{key: tree.KeyOf(&st)}}))
	require.Equal(t, 0, refused(engine.Mutation{Op: gate.OpLink, Caller: stranger, Inode: inode{key: tree.KeyOf(&st)}, Names: []engine.Name{at("y")}}))

	renamed := rename("index.lock", "index")
	renamed.Caller = maker
	require.Equal(t, []bool{true, true}, g.does(t, renamed, func() error { return os.Rename(path("index.lock"), path("index")) }))
	require.Len(t, g.locks.of, 1, "what was locked is replaced")
	removed := engine.Mutation{Op: gate.OpUnlink, Caller: maker, Names: []engine.Name{at("HEAD.lock")}}
	require.Equal(t, []bool{true, true}, g.does(t, removed, func() error { return os.Remove(path("HEAD.lock")) }))
	require.Empty(t, g.locks.of)
	require.True(t, g.locks.names.TryLock())
	require.True(t, g.change.TryLock())
}

// What replaces a lock file is its maker's, whatever it was called before.
func TestWhatReplacesALockFileIsTheSameMakers(t *testing.T) {
	for _, name := range []string{"index.lock.lock", "next"} {
		t.Run(name, func(t *testing.T) { replacesALockFile(t, name) })
	}
}

func replacesALockFile(t *testing.T, next string) {
	g, source := newRepository(t, nil)
	dir := commonDir(t, g, source)
	maker := process.Caller{TID: uint32(os.Getpid())}
	at := func(name string) engine.Name { return engine.Name{Dir: dir, Name: name} }
	path := func(name string) string { return filepath.Join(source, ".git", name) }
	g.does(t, engine.Mutation{Op: gate.OpCreate, Caller: maker, Names: []engine.Name{at("index.lock")}}, func() error { return os.WriteFile(path("index.lock"), nil, 0o644) })
	require.NoError(t, os.WriteFile(path(next), nil, 0o644))
	g.does(t, engine.Mutation{Op: gate.OpRename, Caller: maker, Names: []engine.Name{at(next), at("index.lock")}}, func() error { return os.Rename(path(next), path("index.lock")) })
	st, _ := tree.Stat(dir.fd, "index.lock")
	require.NotNil(t, g.locks.of[tree.KeyOf(&st)], "so another git may write the index.lock that it holds")
	require.Len(t, g.locks.of, 1)
}

// A further name of a lock file, which is no lock by its name, may be replaced by anybody. The lock stays its maker's.
func TestALockFileStaysItsMakersWhenAnotherNameOfItIsReplaced(t *testing.T) {
	g, source := newRepository(t, nil)
	dir := commonDir(t, g, source)
	maker, other := process.Caller{TID: uint32(os.Getpid())}, process.Caller{TID: 1}
	at := func(name string) engine.Name { return engine.Name{Dir: dir, Name: name} }
	path := func(name string) string { return filepath.Join(source, ".git", name) }
	g.does(t, engine.Mutation{Op: gate.OpCreate, Caller: maker, Names: []engine.Name{at("index.lock")}}, func() error { return os.WriteFile(path("index.lock"), nil, 0o644) })
	require.NoError(t, os.Link(path("index.lock"), path("plain")))
	require.NoError(t, os.WriteFile(path("other.lock"), nil, 0o644))
	g.does(t, engine.Mutation{Op: gate.OpRename, Caller: other, Names: []engine.Name{at("other.lock"), at("plain")}}, func() error { return os.Rename(path("other.lock"), path("plain")) })
	st, _ := tree.Stat(dir.fd, "index.lock")
	require.NotNil(t, g.locks.keeper(tree.KeyOf(&st), other))
}

// What is outside of the repository holds nothing.
func TestWhatIsElsewhereHoldsNoRepository(t *testing.T) {
	g, _ := newRepository(t, nil)
	var h engine.Held
	a, err := engine.Policies{g}.Admit(engine.Mutation{Op: gate.OpCreate, Names: []engine.Name{{Dir: inode{role: layout.Plain}, Name: "f"}}}, &h, func(error) bool { return false })
	require.NoError(t, err)
	require.False(t, h.Has(engine.Repository))
	a.Drop()
}
