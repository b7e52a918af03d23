package harness

import (
	"os"
	"slices"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Unmount is jvsfs umount, once. A process in the middle of a call keeps a mount busy, as with every file
// system; only then it tries again.
func (m *Mount) Unmount() {
	m.T.Helper()
	m.reportFailure()
	if !m.Mounted {
		return
	}
	args := []string{"umount", m.Mountpoint}
	if m.Dead {
		args = append(args, "--bare")
	}
	EventuallyNoted(m.T, "jvsfs umount", func() (bool, string) {
		out, errs, exit := m.CLI(args...)
		if exit == noEnd { // and that is said
			m.T.FailNow()
		}
		require.Contains(m.T, []int{0, ExitBusy}, exit, "%s%s", out, errs)
		return exit == 0, errs
	})
	m.Mounted = false
}

// cleanup unmounts and checks that nothing stays; what does stay is removed
// by force so that one failure does not become many.
func (m *Mount) cleanup() {
	defer m.force()
	defer m.reportLeft()
	m.Unmount()
	m.checkNothingLeft()
	m.checkLog()
}

// checkLog looks for what a daemon says only when it is broken; a race in it
// shows nowhere else.
func (m *Mount) checkLog() {
	m.T.Helper()
	text, err := os.ReadFile(m.LogFile())
	if !m.WasMounted {
		return
	}
	require.NoError(m.T, err)
	for _, sign := range []string{"DATA RACE", "panic:", "fatal error:", "goroutine 1 ["} {
		require.NotContains(m.T, string(text), sign, "in the daemon's log")
	}
}

// force ends what this mount may have left. Only processes of our own binary,
// which was built for this run, are touched. After a failure no mount of this run
// stays, wherever the test made it: the next test must not answer for it.
func (m *Mount) force() {
	if !slices.Contains([]string{"", "ext4"}, TopType(m.T, m.Mountpoint)) {
		_ = unix.Unmount(m.Mountpoint, unix.MNT_DETACH)
	}
	for _, pid := range ProcessesOf(m.Bin) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if m.T.Failed() {
		detachAll()
	}
}

func detachAll() {
	infos, _ := mountinfo.GetMounts(mountinfo.PrefixFilter(Scratch))
	for _, i := range infos {
		if i.FSType == "fuse.jvsfs" {
			_ = unix.Unmount(i.Mountpoint, unix.MNT_DETACH)
		}
	}
}
