package place

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// What a rule guards is guarded in the mount that has the rule. A mount of the same directory, of one above it or of one below it
// that has other rules, or none, would let everybody past them. So each daemon shows its rules by locks on the same
// directories as its records, on other bytes. Two that serve one directory see each other, as with the records.
const (
	rulesFrom      = belowFrom + markSpan      // plus the mark of the rules: the directory is served with them
	rulesBelowFrom = rulesFrom + rulesMarkSpan // plus the mark of the rules: a directory below it is
	rulesMarkSpan  = int64(1) << 60
)

// RulesMark tells sets of rules apart. No rules are a set, too.
func RulesMark(rules *lockfile.Rules) (int64, error) {
	var all []lockfile.Spec
	for _, r := range slices.Concat(rules.All(), rules.Leases()) {
		all = append(all, r.Spec)
	}
	text, err := json.Marshal(all)
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 4), err
}

// LockRules shows with which rules the directory of p is served. It fails if this directory, one above or one below is
// served with others. Those of a daemon that is about to be replaced may be others.
func (l *TreeLock) LockRules(p Place, replaced *lockfile.Rules) error {
	mark, err := RulesMark(p.Rules)
	if err != nil {
		return err
	}
	known := []int64{mark}
	if replaced != nil {
		before, err := RulesMark(replaced)
		if err != nil {
			return err
		}
		known = append(known, before)
	}
	slices.Sort(known)
	if err := l.setRules(unix.F_RDLCK, mark); err != nil {
		return err
	}
	l.rules = mark
	for i, dir := range l.dirs {
		if hasOther(dir, rulesFrom, known) {
			return ruledOtherwise(p, dir.Name())
		}
		if i == 0 && hasOther(dir, rulesBelowFrom, known) {
			return ruledOtherwise(p, "a directory below it")
		}
	}
	return nil
}

// LeaveRules ends LockRules: another daemon is in the place of this one.
func (l *TreeLock) LeaveRules() error {
	if l == nil {
		return nil
	}
	return l.setRules(unix.F_UNLCK, l.rules)
}

func (l *TreeLock) setRules(kind int16, mark int64) (err error) {
	for i, dir := range l.dirs {
		from := rulesBelowFrom
		if i == 0 {
			from = rulesFrom
		}
		lock := unix.Flock_t{Type: kind, Start: from + mark, Len: 1}
		if locked := retryInterrupted(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_SETLK, &lock) }); locked != nil && l.Known {
			err = errors.Join(err, &os.PathError{Op: "lock", Path: dir.Name(), Err: locked})
		}
	}
	return err
}

// hasOther searches for a mark that is none of those that are known, which are sorted.
func hasOther(dir *os.File, from int64, known []int64) bool {
	next := int64(0)
	for _, end := range append(slices.Clone(known), rulesMarkSpan) {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: from + next, Len: end - next}
		if end > next && retryInterrupted(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_GETLK, &lock) }) == nil && lock.Type != unix.F_UNLCK {
			return true
		}
		next = end + 1
	}
	return false
}

func ruledOtherwise(p Place, where string) *api.Failure {
	if where == p.Root {
		where = "it"
	}
	return &api.Failure{
		Class:   api.ClassUsage,
		Message: fmt.Sprintf("%s is not served with these rules: %s is served by another mount that has others, or none, and would let everybody past them", human.Printable(p.Root), human.Printable(where)),
		Next:    "give both mounts the same rules (for lock files one mount has to do), or umount the other one; jvsfs status lists the mounts",
	}
}
