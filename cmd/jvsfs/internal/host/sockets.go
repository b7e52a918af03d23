package host

import (
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// SocketDir has the control sockets of root's mounts, one for each mounted device. Only root writes there, so
// only the daemon of the mount can answer. Those of a user are in his RunDir.
const SocketDir = "/run/jvsfs"

// SocketPath is the control socket of the daemon of a device.
func SocketPath(d api.Device) string { return besideSocket(d, "sock") }

func fileOf(d api.Device, kind string) string {
	return fmt.Sprintf("dev-%d-%d.%s", d.Major, d.Minor, kind)
}

// DeviceOf is the device of a mount.
func DeviceOf(m *mountinfo.Info) api.Device {
	return api.Device{Major: uint32(m.Major), Minor: uint32(m.Minor)}
}

// PrepareSocketDir refuses a directory in which another user could have put a socket.
func PrepareSocketDir(dir string) error {
	if ByUser() {
		return prepareUserDir(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if !isOwn(dir) {
		return fmt.Errorf("%s is not a directory that only its owner, the user of the daemon, writes to", dir)
	}
	return os.Chmod(dir, 0o755)
}
