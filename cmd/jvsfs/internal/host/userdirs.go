package host

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Root keeps sockets, records and logs in directories of the machine. A user has his own, by the XDG Base
// Directory Specification: sockets and state below XDG_RUNTIME_DIR, records and logs below XDG_STATE_HOME. A
// relative path there counts as unset, as the specification says.

// ByUser reports whether this process is not root's, so that what it keeps is in directories of its user.
func ByUser() bool { return os.Geteuid() != 0 }

// UserState is the directory of a user's records and logs: jvsfs below XDG_STATE_HOME, or below
// ~/.local/state.
func UserState() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jvsfs")
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	return filepath.Join("/", home, ".local", "state", "jvsfs")
}

// RunDir is where this user's daemons listen and leave their state.
func RunDir() string {
	if !ByUser() {
		return SocketDir
	}
	return userRunDirs()[0]
}

// userRunDirs are the places where daemons of this user may listen, the place for a new one first. A
// daemon may have been started with another environment than a command: by cron, or by su.
func userRunDirs() []string {
	var dirs []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, filepath.Join(dir, "jvsfs"))
	}
	if dir := filepath.Join("/run/user", strconv.Itoa(os.Geteuid())); isOwn(dir) {
		dirs = append(dirs, filepath.Join(dir, "jvsfs"))
	}
	return append(dirs, filepath.Join(UserState(), "run"))
}

// runDirOf is the directory that has the files of a device: of this user's directories the one where they are,
// or the one where they would be.
func runDirOf(d api.Device) string {
	if !ByUser() {
		return SocketDir
	}
	dirs := userRunDirs()
	for _, dir := range dirs {
		for _, kind := range []string{"sock", "state"} {
			if isOwn(dir) && exists(filepath.Join(dir, fileOf(d, kind))) {
				return dir
			}
		}
	}
	return dirs[0]
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isOwn reports whether a path is a directory, and no link, in which only this user can put files.
func isOwn(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == os.Geteuid() && st.Mode&0o022 == 0
}

// MountedBy is the user who has mounted m. The kernel has it from the one who mounted, and shows it in the
// mount table.
func MountedBy(m *mountinfo.Info) uint32 {
	for option := range strings.SplitSeq(m.VFSOptions, ",") {
		if id, is := strings.CutPrefix(option, "user_id="); is {
			n, _ := strconv.ParseUint(id, 10, 32) // the kernel writes numbers
			return uint32(n)
		}
	}
	return 0
}

// IsOwnMount reports whether this user, who is not root, has mounted m.
func IsOwnMount(m *mountinfo.Info) bool {
	return ByUser() && int64(MountedBy(m)) == int64(os.Geteuid())
}

// IsForeign reports whether a mount is another user's than root's and this one's, and nobody serves it in
// root's directory.
func IsForeign(m *mountinfo.Info) bool {
	return MountedBy(m) != 0 && !IsOwnMount(m) && !exists(SocketOf(m))
}

// SocketOf is the control socket of the daemon of a mount.
func SocketOf(m *mountinfo.Info) string {
	if IsOwnMount(m) {
		return SocketPath(DeviceOf(m))
	}
	return filepath.Join(SocketDir, fileOf(DeviceOf(m), "sock"))
}

// longestSocket is the longest path of a socket (unix(7), sun_path).
const longestSocket = 107

// prepareUserDir makes a directory for the sockets of this user, and refuses one that is not his alone.
func prepareUserDir(dir string) error {
	if len(filepath.Join(dir, fileOf(api.Device{Minor: 1<<20 - 1}, "sock"))) > longestSocket {
		return &api.Failure{Class: api.ClassUsage, File: dir, Message: "the path of the directory for sockets is too long: " + dir,
			Next: "set XDG_RUNTIME_DIR to a shorter one"}
	}
	parent := filepath.Dir(dir)
	if parent == UserState() {
		if err := PrepareUserState(); err != nil {
			return err
		}
	} else if resolved, err := filepath.EvalSymlinks(parent); err != nil || !isOwn(resolved) {
		return notOwn(parent, "XDG_RUNTIME_DIR", err)
	}
	return makeOwn(dir, "XDG_RUNTIME_DIR")
}

// PrepareUserState makes the directory of this user's records and logs, and refuses one that is not his alone.
func PrepareUserState() error {
	dir := UserState()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return notOwn(filepath.Dir(dir), "XDG_STATE_HOME", err)
	}
	return makeOwn(dir, "XDG_STATE_HOME")
}

// makeOwn makes the directory dir if it is not there. variable says where it is.
func makeOwn(dir, variable string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return notOwn(dir, variable, err)
	}
	if !isOwn(dir) {
		return notOwn(dir, variable, nil)
	}
	return os.Chmod(dir, 0o700)
}

func notOwn(dir, variable string, err error) error {
	why := "it belongs to somebody else, others may write there, or it is a link"
	if err != nil {
		why = err.Error()
	}
	return &api.Failure{Class: api.ClassDenied, Err: err,
		Message: fmt.Sprintf("jvsfs keeps nothing of %s in %s: %s", process.UserName(uint32(os.Geteuid())), dir, why),
		Next:    fmt.Sprintf("set %s to a directory of your own with mode 0700, or unset it and see HOME", variable)}
}
