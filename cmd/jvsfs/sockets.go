package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// socketDir holds the control sockets, one for each mounted device. Only root
// writes there, so that who answers is the daemon of the mount.
const socketDir = "/run/jvsfs"

func socketPath(d device) string {
	return filepath.Join(socketDir, fmt.Sprintf("dev-%d-%d.sock", d.Major, d.Minor))
}

func deviceOf(m *mountinfo.Info) device {
	return device{uint32(m.Major), uint32(m.Minor)}
}

// prepareSocketDir refuses a directory in which somebody else could have put a
// socket of theirs.
func prepareSocketDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only its owner, the user of the daemon, writes to", dir)
	}
	return os.Chmod(dir, 0o755)
}
