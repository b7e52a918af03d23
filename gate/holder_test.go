package gate

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// child starts a process that lives until the test ends, optionally in its own session.
func child(t *testing.T, setsid bool) int {
	t.Helper()
	c := exec.Command("cat")
	c.SysProcAttr = &unix.SysProcAttr{Setsid: setsid}
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	return c.Process.Pid
}

func TestEachScopeCountsItsProcessesAsTheHolder(t *testing.T) {
	r := NewResolver(lease.SystemClock())
	t.Cleanup(r.Close)
	ident := func(pid int) process.Identity {
		id, err := r.Identify(process.Caller{TID: uint32(pid), UID: uint32(os.Getuid())})
		require.NoError(t, err)
		return id
	}
	self, kid, loner := os.Getpid(), child(t, false), child(t, true)

	tree, err := r.HolderFor(kid, ScopeTree, "")
	require.NoError(t, err)
	require.True(t, r.Member(tree, ident(kid)))
	require.False(t, r.Member(tree, ident(self)), "a parent is no descendant")
	require.False(t, r.Member(tree, ident(loner)))
	mine, err := r.HolderFor(self, ScopeTree, "")
	require.NoError(t, err)
	require.True(t, r.Member(mine, ident(kid)))
	require.True(t, r.Member(mine, ident(loner)), "a new session does not leave the tree")
	require.True(t, r.Member(mine, ident(unix.Gettid())), "any thread of the holder")

	session, err := r.HolderFor(self, ScopeSession, "")
	require.NoError(t, err)
	require.True(t, r.Member(session, ident(kid)))
	require.False(t, r.Member(session, ident(loner)))

	user, err := r.HolderFor(self, ScopeUser, "")
	require.NoError(t, err)
	require.True(t, r.Member(user, process.Identity{UID: uint32(os.Getuid())}))
	require.False(t, r.Member(user, process.Identity{UID: 4242}))

	reused := tree
	reused.StartTime++
	require.False(t, r.Member(reused, ident(kid)), "the same pid with another start time is another process")
	elsewhere := tree
	elsewhere.PIDNamespace = "pid:[1]"
	require.False(t, r.Member(elsewhere, ident(kid)), "a pid means nothing in another namespace")
	rebooted := tree
	rebooted.BootID = "x"
	require.False(t, r.Member(rebooted, ident(kid)))
}

func TestAHolderIsLivingStoppedOrGone(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	r := NewResolver(lease.SystemClock())
	t.Cleanup(r.Close)
	h, err := r.HolderFor(c.Process.Pid, ScopeTree, "")
	require.NoError(t, err)
	require.Equal(t, lease.Alive, Liveness(h))
	require.NoError(t, c.Process.Signal(unix.SIGSTOP))
	require.Eventually(t, func() bool { return Liveness(h) == lease.Stopped }, eventually, tick)
	require.False(t, r.Gone(h), "it is stopped")
	require.NoError(t, c.Process.Signal(unix.SIGCONT))
	require.Eventually(t, func() bool { return Liveness(h) == lease.Alive }, eventually, tick)
	_ = in.Close()
	require.Eventually(t, func() bool { return Liveness(h) == lease.Gone }, eventually, tick, "a zombie is gone")
	require.True(t, r.Gone(h), "a zombie is gone")
	require.NoError(t, c.Wait())
	require.Equal(t, lease.Gone, Liveness(h))
	require.True(t, r.Gone(h))
	h.BootID = "x"
	require.Equal(t, lease.Unknown, Liveness(h))
	require.False(t, r.Gone(h), "nobody knows")
}

func TestAnAutomaticLeaseIsBoundToTheSessionsLeader(t *testing.T) {
	r := NewResolver(lease.SystemClock())
	t.Cleanup(r.Close)
	id, err := r.Identify(process.Caller{TID: uint32(child(t, false))})
	require.NoError(t, err)
	h, err := r.autoHolder(id, ScopeSession)
	require.NoError(t, err)
	require.True(t, h.Auto)
	if id.SessionStart != 0 {
		require.Equal(t, id.Session, h.PID)
	}
	require.Equal(t, strconv.Itoa(id.Session)+":"+strconv.FormatUint(id.SessionStart, 10), h.ScopeKey)
}
