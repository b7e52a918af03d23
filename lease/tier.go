package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// tier is all that depends on whether other kernels may write the lock directory's file system. Each method is one such
// question; no other code compares tiers. A value, comparable, without state.
type tier interface {
	// gateProvesEnd is whether LOCK_EX on the gate proves that the holder before has stopped (rules 6 and 12, repair).
	gateProvesEnd() bool
	// unwatched is how much longer a record's bytes must be watched before its lease may be taken over (rule 6), if they
	// have been seen unchanged for quiet. Not above 0 if it may be now.
	unwatched(p Policy, quiet time.Duration) time.Duration
	// watchesIdle is whether a keeper that holds nothing watches the record, so that a takeover need not begin to.
	watchesIdle() bool
	// storeHasOwnClock is whether the store stamps times by another clock than ours (rule 7).
	storeHasOwnClock() bool
	// looksAgain is whether a mutation is judged once more after it took effect (rule 10).
	looksAgain() bool
	// endsWithKernel is whether all who could write here end with this kernel, so that what only they need not outlive
	// is not waited for on the disk (rule 11).
	endsWithKernel() bool
	// takersUnseen is whether somebody may be taking an offered lease without any lock that says so (rule 14). They then
	// have takeWithin for it, and the record says until when they may come.
	takersUnseen() bool
	// sweeps is whether old claims are removed while a lease is held (rule 15).
	sweeps() bool
	// followers is whether two keepers may stand for one lease (Join, Follow).
	followers() bool
}

// The tiers. Tier A is a file system of this kernel alone. Everything else is remote: flock proves nothing that all writers
// share (tier C of the design; tier B, whose lock manager all share, is not told apart from it).
var (
	tierA      tier = kernelTier{}
	tierRemote tier = remoteTier{}
)

type kernelTier struct{}

func (kernelTier) gateProvesEnd() bool                           { return true }
func (kernelTier) unwatched(Policy, time.Duration) time.Duration { return 0 }
func (kernelTier) watchesIdle() bool                             { return false }
func (kernelTier) storeHasOwnClock() bool                        { return false }
func (kernelTier) looksAgain() bool                              { return false }
func (kernelTier) endsWithKernel() bool                          { return true }
func (kernelTier) takersUnseen() bool                            { return false }
func (kernelTier) sweeps() bool                                  { return true }
func (kernelTier) followers() bool                               { return true }

type remoteTier struct{}

func (remoteTier) gateProvesEnd() bool                                   { return false }
func (remoteTier) unwatched(p Policy, quiet time.Duration) time.Duration { return p.silence() - quiet }
func (remoteTier) watchesIdle() bool                                     { return true }
func (remoteTier) storeHasOwnClock() bool                                { return true }
func (remoteTier) looksAgain() bool                                      { return true }
func (remoteTier) endsWithKernel() bool                                  { return false }
func (remoteTier) takersUnseen() bool                                    { return true }
func (remoteTier) sweeps() bool                                          { return false }
func (remoteTier) followers() bool                                       { return false }

func (s *Store) tier() tier { return s.dir.tier }

// bcachefsMagic is not in x/sys/unix; the others that it lacks are listed by number with their name (linux/magic.h).
const (
	bcachefsMagic = 0xca451a4e
	zfsMagic      = 0x2fc12fc1
	f2fsMagic     = 0xf2f52010
	jfsMagic      = 0x3153464a
	nilfsMagic    = 0x3434
	ramfsMagic    = 0x858458f6
)

// tierOf takes every file system that it does not know for one that other kernels may write.
func tierOf(fd int) tier {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return tierRemote
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.REISERFS_SUPER_MAGIC, bcachefsMagic, zfsMagic, f2fsMagic, jfsMagic, nilfsMagic, ramfsMagic:
		return tierA
	}
	return tierRemote
}

// SharedStore reports whether other kernels may write the file system behind a descriptor too, or may for all that is known:
// there the gate alone does not keep late writes away (rule 10).
func SharedStore(fd int) bool { return tierOf(fd).looksAgain() }
