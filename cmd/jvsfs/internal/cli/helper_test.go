package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
)

func TestProgramsAreTakenForHelpersOfMountByTheirName(t *testing.T) {
	for line, helper := range map[string]bool{
		"/sbin/mount.fuse.jvsfs /a /b": true, "mount.jvsfs /a /b -o rw": true, "/usr/sbin/umount.fuse.jvsfs /b": true, "umount.jvsfs": true,
		"jvsfs /a /b -o rw,dev,suid": true, "jvsfs": false, "/usr/bin/jvsfs mount /a /b": false, "jvsfs umount /b": false, "jvsfs --help": false,
		"./mount": false,
	} {
		require.Equal(t, helper, helperOf(strings.Fields(line)) != nil, line)
	}
}

// Calls as mount(8) and umount(8) make them, and what they come to.
func TestCallsOfMountAndUmountBecomeCommands(t *testing.T) {
	for line, want := range map[string]string{
		"/a /b":                                  "mount -- /a /b",
		"/a /b -o rw":                            "mount -- /a /b",
		"/a /b -sfnv -o rw,nosuid,mode=shared":   "mount -o mode=shared,nosuid -- /a /b",
		"/a /b -n -t fuse.jvsfs -o ro -o noexec": "mount -o ro,noexec -- /a /b",
		"-o nodev /a /b -r":                      "mount -o ro,nodev -- /a /b",
		"/a /b -s -o what=ever,nodev":            "mount -o nodev -- /a /b",
		"-- -a -b":                               "mount -- -a -b",
	} {
		c, err := parseHelperCall("mount.fuse.jvsfs", 2, strings.Fields(line))
		require.NoError(t, err, line)
		args, err := c.mountArgs(console.Streams{Out: t.Output()})
		require.NoError(t, err, line)
		require.Equal(t, strings.Fields(want), args, line)
	}
	for line, want := range map[string]string{
		"/a": "wants 2 arguments, not 1", "/a /b /c": "wants 2 arguments, not 3", "/a /b -x": "unknown shorthand flag", "/a /b -o": "flag needs an argument",
		"/a /b -t fuse.sshfs": `file system type "fuse.sshfs" is not fuse.jvsfs`, "/a /b -N /proc/1/ns/mnt": "mount namespace",
		"--help": "is called by mount(8)",
	} {
		_, err := parseHelperCall("mount.fuse.jvsfs", 2, strings.Fields(line))
		require.ErrorContains(t, err, want, line)
	}
}
