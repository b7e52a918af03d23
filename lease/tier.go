package lease

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// tier is all that depends on whether other kernels may write the lock directory's file system. Each method is one such question. No
// other code compares tiers. A value without state.
type tier interface {
	// gateProvesEnd is whether LOCK_EX on the gate proves that the last holder has stopped (rules 6 and 12, repair).
	gateProvesEnd() bool
	// unwatched is how much longer a record must be watched before its lease may be taken over (rule 6), if it has not changed
	// for quiet. 0 or less: it may be taken over now.
	unwatched(p record.Policy, quiet time.Duration) time.Duration
	// watchesIdle is whether a keeper that holds nothing watches the record, so that a takeover need not wait for a silence.
	watchesIdle() bool
	// storeHasOwnClock is whether the store stamps files by a clock that is not ours (rule 7).
	storeHasOwnClock() bool
	// looksAgain is whether a mutation is judged once more after it took effect (rule 10).
	looksAgain() bool
	// endsWithKernel is whether every process that could write here ends with this kernel. Then some writes are not waited for on
	// the disk (rule 11).
	endsWithKernel() bool
	// takersUnseen is whether somebody may be taking an offered lease and no lock shows it (rule 14). A taker then has Policy.TakeWithin
	// for it, and the record says how long takers may come.
	takersUnseen() bool
	// locksGetLost is whether a lock may be gone while its holder lives and knows nothing of it: another machine keeps it (rule 8).
	locksGetLost() bool
	// sweeps is whether old claims are removed while a lease is held (rule 15).
	sweeps() bool
	// resumes is whether a holder may go on after its deadline (rule 16).
	resumes() bool
	// asksWallClock is whether the wall clock says when a lease is over (rules 5 and 7).
	asksWallClock() bool
	// followers is whether two keepers may have one lease (Join, Follow).
	followers() bool
}

// The tiers. Tier A is a file system that only this kernel writes. Every other one is remote: flock does not reach all writers. (That is
// tier C of the design. Tier B, with a lock manager that all writers share, counts as remote, too.)
var (
	tierA      tier = kernelTier{}
	tierRemote tier = remoteTier{}
)

type kernelTier struct{}

func (kernelTier) gateProvesEnd() bool                                  { return true }
func (kernelTier) unwatched(record.Policy, time.Duration) time.Duration { return 0 }
func (kernelTier) watchesIdle() bool                                    { return false }
func (kernelTier) storeHasOwnClock() bool                               { return false }
func (kernelTier) looksAgain() bool                                     { return false }
func (kernelTier) endsWithKernel() bool                                 { return true }
func (kernelTier) takersUnseen() bool                                   { return false }
func (kernelTier) locksGetLost() bool                                   { return false }
func (kernelTier) sweeps() bool                                         { return true }
func (kernelTier) resumes() bool                                        { return true }
func (kernelTier) asksWallClock() bool                                  { return true }
func (kernelTier) followers() bool                                      { return true }

type remoteTier struct{}

func (remoteTier) gateProvesEnd() bool { return false }
func (remoteTier) unwatched(p record.Policy, quiet time.Duration) time.Duration {
	return p.Silence() - quiet
}
func (remoteTier) watchesIdle() bool      { return true }
func (remoteTier) storeHasOwnClock() bool { return true }
func (remoteTier) looksAgain() bool       { return true }
func (remoteTier) endsWithKernel() bool   { return false }
func (remoteTier) takersUnseen() bool     { return true }
func (remoteTier) locksGetLost() bool     { return true }
func (remoteTier) sweeps() bool           { return false }
func (remoteTier) resumes() bool          { return false }
func (remoteTier) asksWallClock() bool    { return true }
func (remoteTier) followers() bool        { return false }

func (s *Store) tier() tier { return s.dir.tier }

// These are not in x/sys/unix. Source: linux/magic.h and the file systems' own headers.
const (
	bcachefsMagic = 0xca451a4e
	zfsMagic      = 0x2fc12fc1
	f2fsMagic     = 0xf2f52010
	jfsMagic      = 0x3153464a
	nilfsMagic    = 0x3434
	ramfsMagic    = 0x858458f6
)

// localFileSystems are those whose flock is this kernel's own, by statfs(2)'s f_type, and their names for people.
var localFileSystems = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.REISERFS_SUPER_MAGIC: "reiserfs", bcachefsMagic: "bcachefs", zfsMagic: "zfs",
	f2fsMagic: "f2fs", jfsMagic: "jfs", nilfsMagic: "nilfs2", ramfsMagic: "ramfs",
}

// LocalFileSystem names a file system that only this kernel writes; "" for every other one. No other code has such a list.
func LocalFileSystem(st *unix.Statfs_t) string { return localFileSystems[uint32(st.Type)] }

// tierOf is remote for every file system that it does not know.
func tierOf(fd int) tier {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return tierRemote
	}
	if LocalFileSystem(&st) != "" {
		return tierA
	}
	return tierRemote
}

// SharedStore reports whether other kernels may write the file system of a descriptor, or whether that is not known. There the gate
// alone does not prevent late writes (rule 10).
func SharedStore(fd int) bool { return tierOf(fd).looksAgain() }
