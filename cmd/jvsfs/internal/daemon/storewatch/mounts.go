package storewatch

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// MountsOf says which mounts directories are on, those of them that are on another machine's file system or on that of a program: the devices,
// and the numbers of the mounts. A store that is mounted again has another number; the device alone would not do, for a mount that has gone
// leaves it to the next one. "" elsewhere. covered is whether a dead mount may lie over the directories.
func MountsOf(covered bool, dirs ...Dir) string {
	var all []string
	for _, o := range dirs {
		if is := mountOf(o, covered); is != "" {
			all = append(all, is)
		}
	}
	return strings.Join(all, " ")
}

func mountOf(o Dir, covered bool) string {
	var st unix.Stat_t
	if !lease.SharedStore(o.FD) && !onFUSE(o.FD) || unix.Fstat(o.FD, &st) != nil {
		return ""
	}
	name := api.Device{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev)}.String()
	if covered {
		return name
	}
	var at unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, o.Path, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID_UNIQUE, &at)
	if err == nil && at.Mask&unix.STATX_MNT_ID_UNIQUE != 0 { // Linux 6.8
		name += fmt.Sprintf("/%d", at.Mnt_id)
	}
	return name
}
