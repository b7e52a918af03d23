package daemon

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// hangUp asks the daemon for the lease in the name of this process n times, and hangs up while the daemon is stopped. It returns when
// the daemon has worked all of them off.
func hangUp(m *harness.Mount, n int) {
	m.T.Helper()
	daemon, at, before := m.Daemons()[0], socket(m, m.Mountpoint), acquires(m)
	require.NoError(m.T, unix.Kill(daemon, unix.SIGSTOP))
	for range n {
		conn, err := net.Dial("unix", at)
		if err == nil {
			_, err = fmt.Fprintf(conn, `{"version":1,"op":"acquire","pid":%d}`+"\n", os.Getpid())
			_ = conn.Close()
		}
		if err != nil {
			_ = unix.Kill(daemon, unix.SIGCONT)
			require.NoError(m.T, err)
		}
	}
	require.NoError(m.T, unix.Kill(daemon, unix.SIGCONT))
	harness.Eventually(m.T, "the requests have been worked off", func() bool { return acquires(m) >= before+float64(n) })
}

// acquires counts the requests for a lease that have been worked off.
func acquires(m *harness.Mount) (all float64) {
	m.T.Helper()
	for _, result := range []string{"ok", "failed"} {
		all += scrape(m)[`jvsfs_control_requests_total{request="acquire",result="`+result+`"}`]
	}
	return all
}

// Whoever hung up before the answer does not know of a lease that it was granted just then, and would keep others out for as long as it
// lives. A lease that it was told of before stays.
func TestALeaseWhoseAskerHungUpIsGivenBack(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--metrics", "127.0.0.1:0"}})
	for range 20 {
		hangUp(m, 1)
		harness.Eventually(t, "the lease that nobody knows of is given back", func() bool { return m.WorktreeStatus("source").State == "free" })
	}
	harness.Eventually(t, "one of them was granted, or nothing was shown", func() bool {
		granted := m.WorktreeStatus("source").Token > 0
		if !granted {
			hangUp(m, 1)
		}
		return granted
	})
	harness.Eventually(t, "that one is given back, too", func() bool { return m.WorktreeStatus("source").State == "free" })
	require.ErrorIs(t, os.WriteFile(m.At("f"), nil, 0o600), unix.EROFS)

	self := strconv.Itoa(os.Getpid())
	m.MustCLI("lock", "acquire", "--pid", self, m.Mountpoint)
	held := m.WorktreeStatus("source").Token
	hangUp(m, 20)
	require.Equal(t, held, m.WorktreeStatus("source").Token)
	require.NoError(t, os.WriteFile(m.At("f"), nil, 0o600))
	m.MustCLI("lock", "release", "--pid", self, m.Mountpoint)
}

// Whoever was told of its lease, and then no longer watches it, keeps it.
func TestALeaseStaysWhenItsAskerStopsWatching(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--metrics", "127.0.0.1:0"}})
	before := acquires(m)
	conn, err := net.Dial("unix", socket(m, m.Mountpoint))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, `{"version":1,"op":"acquire","pid":%d,"watch":true}`+"\n", os.Getpid())
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.NotContains(t, line, `"error"`)
	require.NoError(t, conn.Close())
	harness.Eventually(t, "the watch has ended", func() bool { return acquires(m) > before })
	require.Equal(t, "held", m.WorktreeStatus("source").State)
	require.NoError(t, os.WriteFile(m.At("f"), nil, 0o600))
	m.MustCLI("lock", "release", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
}
