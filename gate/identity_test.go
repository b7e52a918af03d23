package gate

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

func TestParseStatSurvivesHostileNames(t *testing.T) {
	tail := " S 10 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4242 1 2 3"
	for _, name := range []string{"sh", "a b", "x) R 1 1 1 (y", ")", "("} {
		s, err := parseStat([]byte("77 (" + name + ")" + tail))
		require.NoError(t, err, name)
		require.Equal(t, ProcStat{Comm: name, State: 'S', PPID: 10, Group: 11, session: 12, Threads: 3, Start: 4242, Processor: -1}, s)
		s, err = parseStat([]byte("77 (" + name + ")" + tail + " 4 5 6 7 8 9 10 11 12 13 14 15 16 96 18"))
		require.NoError(t, err, name)
		require.Equal(t, 96, s.Processor)
	}
	for _, bad := range []string{"", "77", "77 (sh", "77 (sh) S 1", ")(", "77 (sh) S x 11 12 0 -1 1 1 2 3 4 5 6 7 8 20 0 3 0 4242"} {
		_, err := parseStat([]byte(bad))
		require.Error(t, err, bad)
	}
}

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
	ident := func(pid int) Identity {
		id, err := r.Identify(Caller{TID: uint32(pid), UID: uint32(os.Getuid())})
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
	require.True(t, r.Member(user, Identity{UID: uint32(os.Getuid())}))
	require.False(t, r.Member(user, Identity{UID: 4242}))

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

// In a pid namespace that was entered without setsid, the session of everybody is 0.
func TestSessionsFromOutsideAreToldApart(t *testing.T) {
	procs := map[int]ProcStat{
		1:  {PPID: 0, session: 1, Start: 10},
		20: {PPID: 0, session: 0, Start: 20}, // entered by nsenter
		21: {PPID: 20, session: 0, Start: 21},
		22: {PPID: 21, session: 0, Start: 22},
		30: {PPID: 0, session: 0, Start: 30}, // and again
		31: {PPID: 30, session: 31, Start: 31},
		32: {PPID: 31, session: 31, Start: 32},
		33: {PPID: 31, session: 99, Start: 33}, // whose leader has ended
		40: {PPID: 1, session: 0, Start: 40},   // an orphan of 30
		50: {PPID: 51, session: 0, Start: 50},  // what /proc must never say
		51: {PPID: 50, session: 0, Start: 51},
	}
	stat := func(pid int) (ProcStat, error) {
		if s, ok := procs[pid]; ok {
			return s, nil
		}
		return ProcStat{}, errGone
	}
	for pid, want := range map[int][2]int{
		1: {1, 10}, 20: {20, 20}, 21: {20, 20}, 22: {20, 20}, 30: {30, 30},
		31: {31, 31}, 32: {31, 31}, 33: {99, 0}, 40: {40, 40}, 50: {50, 50},
	} {
		session, start := sessionOf(pid, procs[pid], stat)
		require.Equal(t, want, [2]int{session, int(start)}, pid)
	}
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

// A thread id that now belongs to another process must not be taken for the old one.
func TestTheResolverDoesNotTrustNumbers(t *testing.T) {
	r := NewResolver(lease.SystemClock())
	t.Cleanup(r.Close)
	pid := child(t, false)
	id, err := r.Identify(Caller{TID: uint32(pid)})
	require.NoError(t, err)
	again, err := r.Identify(Caller{TID: uint32(pid), UID: 5})
	require.NoError(t, err)
	require.EqualValues(t, 5, again.UID, "the user id comes with each request")
	again.UID = 0
	require.Equal(t, id, again)
	dead := exec.Command("true")
	require.NoError(t, dead.Start())
	_, err = r.Identify(Caller{TID: uint32(dead.Process.Pid)})
	require.NoError(t, err)
	require.NoError(t, dead.Wait())
	_, err = r.Identify(Caller{TID: uint32(dead.Process.Pid)})
	require.ErrorIs(t, err, errGone)
	_, err = r.Identify(Caller{})
	require.ErrorIs(t, err, errUnseen)
}

func TestAnAutomaticLeaseIsBoundToTheSessionsLeader(t *testing.T) {
	r := NewResolver(lease.SystemClock())
	t.Cleanup(r.Close)
	id, err := r.Identify(Caller{TID: uint32(child(t, false))})
	require.NoError(t, err)
	h, err := r.autoHolder(id, ScopeSession)
	require.NoError(t, err)
	require.True(t, h.Auto)
	if id.SessionStart != 0 {
		require.Equal(t, id.Session, h.PID)
	}
	require.Equal(t, strconv.Itoa(id.Session)+":"+strconv.FormatUint(id.SessionStart, 10), h.ScopeKey)
}
