package gate

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A double fork belongs to the holder where somebody above adopts it, and to nobody where none
// does. The lease lasts while the subreaper lives, and that one alone does not make it one of
// another's.
func TestAdoptedOrphansBelongToTheHolder(t *testing.T) {
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
	c := exec.Command("sh", "-c", "(setsid sleep 60 & echo $!); read x; exit 0")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Kill(orphan, unix.SIGKILL)
		var s unix.WaitStatus
		_, _ = unix.Wait4(orphan, &s, 0, nil)
	})
	require.Eventually(t, func() bool { st, err := process.ReadStat(orphan); return err == nil && st.PPID == os.Getpid() }, eventually, tick)

	r := NewResolver(lease.SystemClock())
	defer r.Close()
	h, err := r.HolderFor(c.Process.Pid, ScopeTree, "")
	require.NoError(t, err)
	its, err := process.IdentityOf(orphan)
	require.NoError(t, err)
	its.UID = 0
	require.False(t, r.Member(h, its), "its ties are cut")
	self, err := process.IdentityOf(os.Getpid())
	require.NoError(t, err)
	adopted := WithSubreaper(h, self)
	require.True(t, r.Member(adopted, its))
	self.Start++
	require.False(t, r.Member(WithSubreaper(h, self), its), "of another process that had the subreaper's number")
	self.Start--
	user := h
	user.Scope = string(ScopeUser)
	require.Equal(t, user, WithSubreaper(user, self), "the key of other scopes is their own")
	user.ScopeKey = "0"
	require.True(t, r.Member(user, its))
	require.False(t, Below(user, its), "it only counts as the holder")
	require.True(t, Below(adopted, its))
	adopted.BootID = "of another machine"
	require.False(t, Below(adopted, its))
	adopted = WithSubreaper(h, self)

	require.NoError(t, in.Close())
	require.NoError(t, c.Wait())
	require.Equal(t, lease.Gone, Liveness(h))
	require.Equal(t, lease.Alive, Liveness(adopted), "it is not given back yet")
	self.Start++
	require.Equal(t, lease.Gone, Liveness(WithSubreaper(h, self)))
}

// Who loses the lease stays out with all that it had: the adopted, too.
func TestAdoptedOrphansOfARevokedHolderAreRefused(t *testing.T) {
	h := WithSubreaper(lease.Holder{PID: 20, StartTime: 2, Scope: string(ScopeTree)}, process.Identity{PID: 10, Start: 1})
	stats := map[int]process.Stat{1: {}, 10: {PPID: 1, Start: 1}, 20: {PPID: 10, Start: 2}, 21: {PPID: 20, Start: 3}, 30: {PPID: 10, Start: 3}, 40: {PPID: 1, Start: 3}}
	for pid, in := range map[int]bool{1: false, 10: true, 20: true, 21: true, 30: true, 40: false} {
		require.Equal(t, in, process.DescendsIn(stats, pid, roots(h)...), pid)
	}
}
