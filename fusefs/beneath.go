package fusefs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// moveMountBeneath is MOVE_MOUNT_BENEATH (linux/mount.h, Linux 6.5). The mount goes between the
// topmost mount at a place and what that is mounted on, in one step under the kernel's mount lock.
// Before and after, whoever walks there meets the topmost one.
const moveMountBeneath = 0x00000200

// ErrNotBeneath says that the kernel cannot put a mount beneath that one: it is older than Linux
// 6.5, or the mount is locked or on the root of the mount namespace.
var ErrNotBeneath = errors.New("nothing can be mounted beneath that mount")

// AttachBeneath attaches what Prepare has made below the mount whose root the descriptor top is.
// Nobody sees it there until top is detached. [ErrNotBeneath] changes nothing. After any other
// error Discard must follow.
func (s *Server) AttachBeneath(top int) error {
	err := s.made.move(top, moveMountBeneath)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w (%w)", ErrNotBeneath, err)
	}
	return err
}

// AttachOver attaches what Prepare has made on top of the mount whose root the descriptor top is.
func (s *Server) AttachOver(top int) error { return s.made.move(top, 0) }
