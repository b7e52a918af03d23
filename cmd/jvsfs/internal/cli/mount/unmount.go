package mount

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs"
)

// bareWait bounds the wait for a killed daemon to be gone.
const bareWait = 10 * time.Second

// unmountPlainly unmounts one mount, and asks no daemon.
func unmountPlainly(m *mountinfo.Info) error {
	err := unmountOnce(m)
	switch {
	case errors.Is(err, unix.EBUSY):
		return api.BusyFailure(m.Mountpoint, host.WhoKeepsBusy(host.DeviceOf(m), os.Getpid()))
	case errors.Is(err, unix.EPERM):
		return &api.Failure{Class: api.ClassDenied, Message: "only root may unmount", Next: "run it as root", Err: err}
	case err != nil:
		return fmt.Errorf("unmount %s: %w", m.Mountpoint, err)
	}
	return nil
}

func unmountOnce(m *mountinfo.Info) error {
	if host.IsOwnMount(m) {
		return fusefs.UnmountByUser(m.Mountpoint)
	}
	return unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW)
}
