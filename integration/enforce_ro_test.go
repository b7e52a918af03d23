package integration

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// On a mount that is read-only to the kernel a switch would change nothing, and says so.
func TestEnforceOnAReadOnlyMount(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f"), extra: []string{"-o", "ro"}})
	out, errs, exit := m.CLI("enforce", m.Mountpoint, "enforce")
	require.Equal(t, 2, exit, "%s%s", out, errs)
	require.Contains(t, errs, "mount -o remount,bind,rw "+m.Mountpoint)
	require.Equal(t, "readonly", m.modes().Enforce)

	raw, err := exec.Command("mount", "-o", "remount,bind,rw", m.Mountpoint).CombinedOutput()
	require.NoError(t, err, string(raw))
	m.enforce("enforce")
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(m.put("f"))
}
