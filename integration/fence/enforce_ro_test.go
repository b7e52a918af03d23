package fence

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// On a mount that is read-only to the kernel a switch would change nothing, and says so.
func TestEnforceIsRefusedOnAReadOnlyMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f"), Extra: []string{"-o", "ro"}})
	out, errs, exit := m.CLI("enforce", m.Mountpoint, "enforce")
	require.Equal(t, harness.ExitUsage, exit, "%s%s", out, errs)
	require.Contains(t, errs, "mount -o remount,bind,rw "+m.Mountpoint)
	require.Equal(t, "readonly", m.Modes().Enforce)

	raw, err := exec.Command("mount", "-o", "remount,bind,rw", m.Mountpoint).CombinedOutput()
	require.NoError(t, err, string(raw))
	m.Enforce("enforce")
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(m.Put("f"))
}
