package lease

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// If the file system has no links or locks, the error sends the user to another one. Other failures of the same calls do not.
func TestALockDirectoryWithoutLinksOrLocksIsNamedUnfit(t *testing.T) {
	d := testDir(t)
	for err, unfit := range map[error]bool{
		unix.EPERM: true, unix.EOPNOTSUPP: true, unix.ENOSYS: true, unix.EMLINK: true, unix.ENOLCK: true,
		&os.LinkError{Op: "link", Err: unix.EPERM}: true,
		unix.EACCES: false, unix.EIO: false, unix.ENOSPC: false, unix.EROFS: false, unix.EXDEV: false,
	} {
		e := d.Store("main").failedOrUnfit("hard links", "the claim cannot be linked", "main.claim.1", err)
		require.Equal(t, ClassStoreFailed, e.Class)
		require.EqualValues(t, "main", e.Worktree)
		require.ErrorIs(t, e, err)
		require.Equal(t, unfit, strings.HasSuffix(e.Next, Elsewhere), "%v: %s", err, e.Next)
		require.Equal(t, unfit, e.File == d.path, "%v: %s", err, e.File)
	}
}

// A client that the store has turned away is named, and what to do then: its disk is not at fault.
func TestAStoreThatCutThisHostOffIsNamed(t *testing.T) {
	s := testDir(t).Store("w")
	for _, errno := range []error{unix.ENOTCONN, unix.ESHUTDOWN, unix.EBADF, unix.EBADFD} {
		cause := &os.PathError{Op: "openat", Path: "w.claim", Err: errno}
		for class, err := range map[Class]error{
			ClassStoreFailed:      s.failed("the own record cannot be written", "w.claim", cause),
			ClassRecordUnreadable: s.unreadable("w.claim", cause),
		} {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, class, e.Class)
			require.Contains(t, e.Message, "this host is cut off the store")
			require.Contains(t, e.Next, "umount and mount the store")
		}
	}
	require.NotContains(t, s.failed("the own record cannot be written", "w.claim", unix.ENOSPC).Message, "cut off")
}
