package daemon

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/fusefs"
)

// oldKernel is a file system on a kernel that puts nothing beneath a mount.
type oldKernel struct {
	fileSystem
	over []int // the mounts on which it was put
}

func (*oldKernel) AttachBeneath(int) error {
	return fmt.Errorf("%w (%w)", fusefs.ErrNotBeneath, unix.EINVAL)
}

func (k *oldKernel) AttachOver(top int) error {
	id, err := host.MountIDOf(top)
	k.over = append(k.over, id)
	return err
}

// On such a kernel the new mount goes on top of the dead one, which stays: bare is the
// directory at no moment.
func TestRecoveryOnAnOldKernelCoversTheDeadMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("none", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	infos, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	fs := &oldKernel{}
	d := &succession{mount: &mount{fs: fs, log: zap.NewNop(), journal: journal.New(zap.NewNop())}, recovery: &recovery.Recovery{Point: dir, Dead: infos}}
	require.NoError(t, d.appear(t.Context()))
	require.Equal(t, []int{infos[0].ID}, fs.over)
	after, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	require.Equal(t, infos, after, "it is still there")
}
