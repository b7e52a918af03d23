package succession

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/lease"
)

// oldKernel is a file system on a kernel that puts nothing beneath a mount.
type oldKernel struct {
	over []int // the mounts on which it was put
}

func (*oldKernel) Attach() error  { return nil }
func (*oldKernel) Attached() bool { return false }
func (*oldKernel) Discard()       {}
func (*oldKernel) Abort() error   { return nil }

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
	d := &Arrival{FS: fs, Leases: &leases{}, Log: zap.NewNop(), Journal: journal.New(zap.NewNop()), recovery: &recovery.Recovery{Point: dir, Dead: infos}}
	require.NoError(t, d.Appear(t.Context(), api.Device{}))
	require.Equal(t, []int{infos[0].ID}, fs.over)
	after, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	require.Equal(t, infos, after, "it is still there")
}

// arriving is a daemon whose mount is to appear.
func arriving(fs *kernel, l *leases) *Arrival {
	j := journal.New(zap.NewNop())
	return &Arrival{Mountpoint: "/m", Journal: j, Predecessors: &Predecessors{Journal: j}, Log: zap.NewNop(), FS: fs, Leases: l, State: state{&fs.said}}
}

func TestAMountAppearsAtItsOwnPlace(t *testing.T) {
	fs := &kernel{}
	require.NoError(t, arriving(fs, &leases{}).Appear(t.Context(), api.Device{}))
	require.Equal(t, said{"attach"}, fs.said)
	fs.failure = unix.EPERM
	require.EqualError(t, arriving(fs, &leases{}).Appear(t.Context(), api.Device{}), "mount /m: operation not permitted")
}

// What did not become visible leaves no state. What did, beneath a dead mount, is left as a dead mount, with its state.
func TestAMountThatDidNotAppearLeavesNoBareDirectory(t *testing.T) {
	for attached, want := range map[bool]said{false: {"discard", "forget"}, true: {"discard", "abort"}} {
		fs, l := &kernel{attached: attached}, &leases{}
		require.NoError(t, arriving(fs, l).Withdraw())
		require.Equal(t, want, fs.said)
		require.Equal(t, said{"part", "close"}, l.said)
	}
}

func TestLeasesOfADeadDaemonGoOnAndThoseWhoLostOneStayOut(t *testing.T) {
	l := &leases{}
	d := arriving(&kernel{}, l)
	d.Journal.Restore(journal.File{
		Held:    map[lease.WorktreeID]lease.Saved{"main": {Token: 3}},
		Revoked: map[lease.WorktreeID][]journal.RevokedHolder{"main": {{Token: 2, Kind: lease.LossExpired}}},
	})
	d.adoptAll(t.Context())
	require.Equal(t, said{"revoke main expired", "adopt 1"}, l.said)
}

func TestLeasesAreJoinedUnlessOneHasNoName(t *testing.T) {
	l := &leases{}
	d := arriving(&kernel{}, l)
	lost := map[lease.WorktreeID][]journal.RevokedHolder{"main": {{Token: 2, Kind: lease.LossSuperseded}}}
	require.NoError(t, d.joinAll(t.Context(), journal.File{Held: map[lease.WorktreeID]lease.Saved{"main": {Token: 3}}, Revoked: lost}))
	require.Equal(t, said{"revoke main superseded", "join 1"}, l.said)
	require.Equal(t, lost, d.Journal.Entries().Revoked, "for the next daemon, too")
	require.Error(t, d.joinAll(t.Context(), journal.File{Held: map[lease.WorktreeID]lease.Saved{"../x": {Token: 3}}}))
	require.Len(t, l.said, 2)
}
