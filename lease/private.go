package lease

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// makePrivate gives a lock directory mode 0700. A wrong name must not do that to /tmp, or to a directory that people share: they all
// would be shut out.
func (d *Dir) makePrivate() error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return dirFailed(d.path, "the lock directory cannot be examined", err)
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	if ours, err := d.isForRecords(&st); err != nil {
		return dirFailed(d.path, "the lock directory cannot be listed", err)
	} else if !ours {
		return d.shared(&st)
	}
	if err := unix.Fchmod(d.fd, 0o700); err != nil {
		return dirFailed(d.path, "the lock directory cannot be made private", err)
	}
	return nil
}

// isForRecords reports whether a directory is there for lease records: it has the name that a repository has for them or for its control
// data, it holds some, or it is empty (a file system of its own has lost+found). A sticky one is there for many users (chmod(1)). A view proves nothing: others have files whose names end in .lock, too.
func (d *Dir) isForRecords(st *unix.Stat_t) (bool, error) {
	if strings.HasSuffix(d.path, "/.jvs/locks") || strings.HasSuffix(d.path, "/.jvs") {
		return true, nil
	}
	if st.Mode&unix.S_ISVTX != 0 {
		return false, nil
	}
	empty, records := true, false
	err := d.each(func(name []byte) {
		kind := record.ParseName(string(name)).Kind
		empty, records = empty && string(name) == "lost+found", records || kind == record.KindClaim || kind == record.KindGate
	})
	return empty || records, err
}

// shared refuses a directory that is open to others and is not for records.
func (d *Dir) shared(st *unix.Stat_t) error {
	return &Error{Class: ClassStoreFailed, File: d.path,
		Message: fmt.Sprintf("%s has mode %04o and is not there for lease records alone: to make it private would shut other users out", d.path, st.Mode&0o7777),
		Next:    fmt.Sprintf("name a directory of its own; if this one is for the records: chmod 700 %s", d.path)}
}
