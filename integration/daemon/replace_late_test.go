package daemon

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// askToRetire asks the daemon of the mount to make way for that of another one, and returns its
// answer. The retirement lasts until the connection ends.
func askToRetire(m *harness.Mount, successor *harness.Mount) (answer string, end func()) {
	m.T.Helper()
	conn, err := net.Dial("unix", socket(m, m.Mountpoint))
	require.NoError(m.T, err)
	dev := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(socket(m, successor.Mountpoint)), "dev-"), ".sock")
	_, err = fmt.Fprintf(conn, `{"version":1,"op":"retire","device":%q}`+"\n", strings.ReplaceAll(dev, "-", ":"))
	require.NoError(m.T, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(m.T, err)
	return line, func() { require.NoError(m.T, conn.Close()) }
}

// A switch of the mode that was let in before a replacement began has ended before the old daemon
// says what it leaves: else whoever asked would be told of a mode that is nobody's any more.
func TestAReplacementWaitsForASwitchOfTheMode(t *testing.T) {
	m, disk := harness.PrepareFreezable(t, harness.MountOptions{OnFree: "deny"})
	harness.WithFiles("f")(t, m.Source)
	m.Mount()
	successor := elsewhere(m)
	t.Cleanup(successor.Unmount)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: 1})
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("x")})
	switching := m.Start(m.Bin, "enforce", m.Mountpoint, "readonly", "--wait", "10m")
	harness.Eventually(t, "the switch waits for what is in flight", func() bool { return m.Modes().Enforce == "readonly" })

	answer, end := askToRetire(m, successor)
	end()
	disk.Thaw() // first of all: a failure must not leave it frozen
	require.Empty(t, (<-written).Errno)
	exit, said := switching.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, answer, "E_MOUNT_BUSY")
	require.Contains(t, answer, "just being switched")
	require.Equal(t, "readonly", m.Modes().Enforce)
	m.Enforce("enforce") // it goes on as if nothing had happened
	a.OK(m.Put("f"))
}

// Who waits for a lease at a daemon that is being replaced is told so, and what to do.
func TestAReplacementTellsWhoWaitsForALease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	waits := m.Start(m.Bin, "lock", "acquire", "--scope", "session", "--pid", harness.PIDOf(b), "--wait", "10m", m.Mountpoint)
	harness.Eventually(t, "it waits", func() bool { return strings.Contains(harness.ReadText(t, waits.File), "waiting") })
	successor, end := retire(m)
	exit, said := waits.Wait()
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, "just being replaced")
	require.Contains(t, said, "try again")
	end()
	m.MustCLI("umount", "--bare", successor.Mountpoint)
}
