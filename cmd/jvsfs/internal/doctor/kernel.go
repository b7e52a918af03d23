package doctor

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs/transport"
)

// kernelFacts are the features of the kernel. They are found by trying the calls. A version proves little,
// because vendors backport features.
type kernelFacts struct {
	release string
	missing []string // calls that a mount needs
	beneath support  // MOVE_MOUNT_BENEATH
	pidfd   support
	fuse    error  // of opening /dev/fuse
	noRing  error  // why a mount would not get its requests by io_uring
	uring   string // the switch of FUSE over io_uring: Y, N, "" where there is none
}

// support says whether the kernel has a feature, or that this is unknown.
type support uint8

const (
	unknown support = iota
	has
	lacks
)

// Features of the FUSE client that only the kernel's release tells before a mount is made: client and daemon
// agree on them in the first exchange of a mount. Mapping a file that is open for writing is
// FUSE_DIRECT_IO_ALLOW_MMAP (protocol 7.39), forgetting on demand is FUSE_NOTIFY_PRUNE (7.45).
const (
	kernelMaps   = "6.6"
	kernelPrunes = "6.18"
)

// moveMountBeneath is MOVE_MOUNT_BENEATH (Linux 6.5).
const moveMountBeneath = 0x200

func checkKernel() []finding.Finding { return kernelFindings(gatherKernel()) }

func gatherKernel() kernelFacts {
	k := kernelFacts{release: "?"}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		k.release = unix.ByteSliceToString(u.Release[:])
	}
	for _, call := range []struct {
		name string
		try  func() error
	}{{"open_tree", tryOpenTree}, {"openat2", tryOpenat2}, {"mount_setattr", tryMountSetattr}} {
		if errors.Is(call.try(), unix.ENOSYS) {
			k.missing = append(k.missing, call.name)
		}
	}
	k.beneath = supportOf(unix.MoveMount(-1, "", -1, "", moveMountBeneath), unix.EINVAL)
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		_ = unix.Close(fd) // a pidfd has nothing to flush
	}
	k.pidfd = supportOf(err, unix.ENOSYS)
	k.fuse = tryFuse()
	k.noRing = transport.NoRing(host.ByUser())
	if text, err := os.ReadFile(transport.URingParameter); err == nil {
		k.uring = strings.TrimSpace(string(text))
	}
	return k
}

// supportOf judges by the error of a call whose other arguments are wrong on purpose. The kernel reports an
// unknown flag or call before those, and a missing privilege before everything.
func supportOf(err error, absent unix.Errno) support {
	switch {
	case errors.Is(err, absent), errors.Is(err, unix.ENOSYS):
		return lacks
	case errors.Is(err, unix.EPERM):
		return unknown
	}
	return has
}

func tryOpenTree() error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLOEXEC)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func tryOpenat2() error {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func tryMountSetattr() error {
	return unix.MountSetattr(-1, "", 0, &unix.MountAttr{}) // EBADF or ENOENT where it exists
}

func tryFuse() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	host.CloseFile(f)
	return err
}

func kernelFindings(k kernelFacts) []finding.Finding {
	out := []finding.Finding{fuseFinding(k.fuse)}
	if len(k.missing) > 0 {
		out = append(out, finding.Fail("kernel.old", "use Linux 5.12 or later; in a container, a seccomp profile may hide them",
			"Linux %s lacks calls that mounting needs: %s", k.release, strings.Join(k.missing, ", ")))
	} else {
		out = append(out, finding.OK("kernel.calls", "Linux %s has the calls that mounting needs", k.release))
	}
	if k.pidfd == lacks {
		out = append(out, finding.Fail("kernel.pidfd", "use Linux 5.3 or later; in a container, a seccomp profile may hide it", "pidfd_open is missing"))
	}
	switch k.beneath {
	case lacks:
		out = append(out, finding.Warn("kernel.beneath", "use Linux 6.5 or later", "Linux %s cannot mount beneath another mount, as jvsfs recover does", k.release))
	case unknown:
		out = append(out, finding.OK("kernel.unseen", "whether a mount can be made beneath another is for root to find out"))
	}
	if olderThan(k.release, kernelMaps) {
		out = append(out, finding.Warn("kernel.map", "use Linux "+kernelMaps+" or later", "on Linux %s files open for writing cannot be mapped", k.release))
	}
	if olderThan(k.release, kernelPrunes) {
		out = append(out, finding.OK("kernel.prune", "Linux %s cannot be asked to forget inodes (%s can): large trees need a high descriptor limit", k.release, kernelPrunes))
	}
	return append(out, uringFinding(k))
}

// uringFinding says what transport: auto takes, and how the admin lets it take io_uring.
func uringFinding(k kernelFacts) finding.Finding {
	switch {
	case k.noRing == nil:
		return finding.OK("kernel.uring", "transport auto takes io_uring")
	case k.uring == "N":
		return finding.OK("kernel.uring", "transport auto takes /dev/fuse: %v; to switch io_uring on: echo Y >%s, and for the next boot options fuse enable_uring=1 in /etc/modprobe.d (or fuse.enable_uring=1 on the kernel's command line)", k.noRing, transport.URingParameter)
	}
	return finding.OK("kernel.uring", "transport auto takes /dev/fuse: %v", k.noRing)
}

func fuseFinding(err error) finding.Finding {
	const fix = "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN"
	switch {
	case err == nil:
		return finding.OK("fuse.device", "/dev/fuse can be opened")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return finding.Fail("fuse.denied", "run it as root; in a container: --device /dev/fuse --cap-add SYS_ADMIN", "%v", err)
	}
	return finding.Fail("fuse.missing", fix, "%v", err)
}
