package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A client that died without a word may leave a time stamp of the record that contradicts the record (CephFS: what it had not flushed).
// Then a takeover fails with a doubt about the clocks, for one silence more. Who waits for the lease waits for that, too.
func TestAWaitForTheLeaseOutlastsAContradictingTimeStamp(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f"),
		Extra: []string{"--steal-grace", harness.Hasty.Lease.String()}}) // so that there is time to meet the doubt
	store, at := m.Source, filepath.Join(m.Base, "at")
	require.NoError(t, os.Mkdir(at, 0o755))
	harness.StartActor(t, "server").OK(harness.Command{Op: "named serve", Path: store, To: at, Name: "someones"})
	t.Cleanup(func() {
		m.Unmount() // before what it lies over
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	})
	m.Source, m.View, m.LockDir = at, at, filepath.Join(at, "control")
	m.Mount()
	m.Acquire(harness.StartActor(t, "a"))
	m.KillDaemon()
	claim, _ := m.HeadClaim("")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(claim, old, old))
	m.MustCLI("umount", "--bare", m.Mountpoint)
	m.Mounted, m.Dead = false, false
	m.Mount()

	write := func(options ...string) (said string, exit int) {
		args := append(append([]string{"exec"}, options...), m.Mountpoint, "--", "sh", "-c", "echo written >"+m.At("f"))
		_, said, exit = m.CLI(args...)
		return said, exit
	}
	harness.EventuallyNoted(t, "the clocks are doubted", func() (bool, string) {
		said, exit := write()
		return exit == harness.ExitClockSkew, said
	})
	said, exit := write("--wait", "10m")
	require.Zero(t, exit, said)
	text, err := os.ReadFile(filepath.Join(store, "f"))
	require.NoError(t, err)
	require.Equal(t, "written\n", string(text))
}
