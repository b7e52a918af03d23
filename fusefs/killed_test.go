package fusefs

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/integration/goroutines"
	"github.com/jvsfs/jvsfs/lease"
)

// command is a process that makes one call on a mount.
type command struct {
	*exec.Cmd
	ended chan error
}

func begin(t *testing.T, argv ...string) *command {
	t.Helper()
	c := &command{exec.Command(argv[0], argv[1:]...), make(chan error, 1)}
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // after a failure it must not keep the mount busy
	go func() { c.ended <- c.Wait() }()
	return c
}

// beginWithin is begin in a directory where the process stands before goOn lets it make its call. So the kernel has nothing to
// look up in the directories above, which others may have locked meanwhile; what it remembers of them can expire at any time.
func beginWithin(t *testing.T, dir string, argv ...string) (c *command, goOn func()) {
	t.Helper()
	// Not by Dir: this process serves the mount, and Go runs nothing on its processor from the fork to the exec.
	c = &command{exec.Command("sh", append([]string{"-c", `cd "$0" && echo && read -r _ && exec "$@"`, dir}, argv...)...), make(chan error, 1)}
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	_, err = out.Read(make([]byte, 1)) // it stands there
	require.NoError(t, err)
	go func() { c.ended <- c.Wait() }()
	return c, func() {
		_, err := in.Write([]byte("\n"))
		require.NoError(t, err)
	}
}

func (c *command) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("%v does not end", c.Args)
		return nil
	}
}

// kill ends the command, which must not stay in its call.
func (c *command) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.Process.Kill())
	require.EqualError(t, c.end(t), "signal: killed")
}

// waiting waits until n calls wait in the file system.
func waiting(t *testing.T, e *gate.Enforcement, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return e.Waiting() == n }, patience, time.Millisecond, "%d wait", n)
}

// A caller that is killed while a file's names are searched for leaves at once. It does not wait
// for the walk, which may be long. The others get their answer.
func TestAKilledCallerDoesNotWaitForAWalk(t *testing.T) {
	e := gate.NewEnforcement(gate.Enforcing)
	m := mounted(t, layout.JVS, func(s string) { linkedRepository(t, s, 3) }, func(o *Options) { o.Enforcement = e })
	m.hold(t, "main", 1)
	over := m.fs.hardlinks.Pause() // another walk lasts
	defer over()                   // or nothing could be unmounted
	leads, follows := begin(t, "chmod", "600", m.at("main/d/0")), begin(t, "chmod", "600", m.at("main/d/1"))
	waiting(t, e, 2)
	stays := begin(t, "chmod", "640", m.at("main/d/2"))
	waiting(t, e, 3)
	leads.kill(t)
	follows.kill(t)
	waiting(t, e, 1)
	out, err := sh(t, m.dir, "echo x >main/new")
	require.NoError(t, err, out)
	over()
	require.NoError(t, stays.end(t))
	waiting(t, e, 0)
	info, err := os.Stat(m.source + "/main/d/1")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode(), "the killed ones have changed nothing")
	goroutines.MustLeave(t, "process.WhenDying", "hardlink.(*Index).lead", "hardlink.(*Index).walk")
}

// A walk that nobody waits for any more does not keep a mount from ending.
func TestAWalkEndsWithTheMount(t *testing.T) {
	e := gate.NewEnforcement(gate.Enforcing)
	m := mounted(t, layout.JVS, func(s string) { linkedRepository(t, s, 1) }, func(o *Options) { o.Enforcement = e })
	m.hold(t, "main", 1)
	m.fs.hardlinks.Pause() // nobody resumes
	c := begin(t, "chmod", "600", m.at("main/d/0"))
	waiting(t, e, 1)
	c.kill(t)
	waiting(t, e, 0)
}

// A caller that is killed at the move lock leaves at once. Those behind it, who waited only for it, go
// on.
func TestAKilledCallerDoesNotWaitAtAnExemptBorder(t *testing.T) {
	e := gate.NewEnforcement(gate.Enforcing)
	m := mounted(t, layout.Tree, func(s string) {
		withCache(t)(s)
		require.NoError(t, os.Mkdir(s+"/cache/x", 0o755)) // the kernel has the directory locked in which a name moves
	}, exempting(), func(o *Options) { o.Enforcement = e })
	m.hold(t, "tree", 1).Close(lease.Loss{Kind: lease.LossReleased})
	pass, ok := m.fs.moveLock.Take(true, gate.Request{})
	require.True(t, ok)
	leave := sync.OnceFunc(func() { m.fs.moveLock.Release(pass, true) })
	defer leave() // or nothing could be unmounted
	c := begin(t, "mkdir", m.at("cache/a"))
	waiting(t, e, 1)
	c.kill(t)
	waiting(t, e, 0)
	leave()

	pass, ok = m.fs.moveLock.Take(false, gate.Request{})
	require.True(t, ok)
	part := sync.OnceFunc(func() { m.fs.moveLock.Release(pass, false) })
	defer part()
	makes, goOn := beginWithin(t, m.at("cache/x"), "mkdir", "b")
	moves := begin(t, "mv", m.at("cache/d"), m.at("cache/e"))
	waiting(t, e, 1)
	goOn()
	waiting(t, e, 2)
	require.NoDirExists(t, m.source+"/cache/x/b")
	moves.kill(t)
	require.NoError(t, makes.end(t), "what it waited for has gone")
	part()
	waiting(t, e, 0)
	require.NoDirExists(t, m.source+"/cache/a")
	require.NoDirExists(t, m.source+"/cache/e")
	out, err := sh(t, m.dir, "mv cache/d cache/e && mkdir cache/a")
	require.NoError(t, err, out)
	goroutines.MustLeave(t, "process.WhenDying", "exempt.(*turnLock).lock")
}
