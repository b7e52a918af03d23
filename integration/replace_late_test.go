package integration

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// askToRetire asks the daemon of the mount to make way for that of another one, and returns its
// answer. The retirement lasts until the connection ends.
func (m *mount) askToRetire(successor *mount) (answer string, end func()) {
	m.t.Helper()
	conn, err := net.Dial("unix", m.socket(m.Mountpoint))
	require.NoError(m.t, err)
	dev := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(m.socket(successor.Mountpoint)), "dev-"), ".sock")
	_, err = fmt.Fprintf(conn, `{"version":1,"op":"retire","device":%q}`+"\n", strings.ReplaceAll(dev, "-", ":"))
	require.NoError(m.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(m.t, err)
	return line, func() { require.NoError(m.t, conn.Close()) }
}

// A switch of the mode that was let in before a replacement began has ended before the old daemon
// says what it leaves: else whoever asked would be told of a mode that is nobody's any more.
func TestReplaceWaitsForASwitch(t *testing.T) {
	m, disk := prepareFreezable(t, mountOptions{onFree: "deny"})
	withFiles("f")(t, m.Source)
	m.mount()
	successor := m.elsewhere()
	t.Cleanup(successor.unmount)
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: 1})
	disk.freeze()
	written := disk.hang(a, command{Op: "write", Handle: "f", Data: []byte("x")})
	switching := m.start(m.bin, "enforce", m.Mountpoint, "readonly", "--wait", "60s")
	eventually(t, "the switch waits for what is in flight", func() bool { return m.modes().Enforce == "readonly" })

	answer, end := m.askToRetire(successor)
	end()
	disk.thaw() // first of all: a failure must not leave it frozen
	require.Empty(t, (<-written).Errno)
	exit, said := switching.wait()
	require.Zero(t, exit, said)
	require.Contains(t, answer, "E_MOUNT_BUSY")
	require.Contains(t, answer, "just being switched")
	require.Equal(t, "readonly", m.modes().Enforce)
	m.enforce("enforce") // it goes on as if nothing had happened
	a.ok(m.put("f"))
}

// Who waits for a lease at a daemon that is being replaced is told so, and what to do.
func TestReplaceTellsWhoWaits(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a)
	waits := m.start(m.bin, "lock", "acquire", "--scope", "session", "--pid", pidOf(b), "--wait", "1m", m.Mountpoint)
	eventually(t, "it waits", func() bool { return strings.Contains(readText(t, waits.file), "waiting") })
	successor, end := m.retire()
	exit, said := waits.wait()
	require.Equal(t, exitBusy, exit, said)
	require.Contains(t, said, "just being replaced")
	require.Contains(t, said, "try again")
	end()
	m.cliOK("umount", "--bare", successor.Mountpoint)
}
