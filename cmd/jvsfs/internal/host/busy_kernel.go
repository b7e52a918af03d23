package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// keptByKernel lists what keeps a file system busy without a process: the file of a loop device, the root of
// another mount, the name of a socket.
func keptByKernel(dev api.Device) []api.BusyEntry {
	mounts, err := ReadMounts()
	if err != nil {
		return nil
	}
	out := append(loopsOn(mounts, dev, "/sys"), mountedOn(mounts, dev)...)
	return append(out, socketsOn(mounts, dev)...)
}

// socketsOn finds the processes that listen on a socket with a name in the file system: the
// descriptor is not one of a file there (proc_net(5): the seventh field is the number that
// the descriptor shows, the last the name as it was bound).
func socketsOn(mounts MountTable, dev api.Device) []api.BusyEntry {
	text, _ := os.ReadFile("/proc/net/unix") // of this network namespace
	names := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 8 || !filepath.IsAbs(f[7]) {
			continue
		}
		name := strings.Join(f[7:], " ")
		if m := mounts.At(filepath.Clean(name)); m != nil && DeviceOf(m) == dev {
			names["socket:["+f[6]+"]"] = name
		}
	}
	if len(names) == 0 {
		return nil
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed
	var out []api.BusyEntry
	for _, fd := range fds {
		link, _ := os.Readlink(fd)
		if name, ok := names[link]; ok {
			pid, _ := strconv.Atoi(strings.Split(fd, "/")[2])
			out = append(out, api.BusyEntry{PID: pid, Command: CommandLine(pid), Use: "fd " + filepath.Base(fd), Path: human.Printable(name)})
		}
	}
	return out
}

// loopsOn finds the loop devices whose file lies in the file system. It goes by the file's path as the kernel
// shows it, because the file system may not answer.
func loopsOn(mounts MountTable, dev api.Device, sys string) []api.BusyEntry {
	names, _ := filepath.Glob(filepath.Join(sys, "block/*/loop/backing_file")) // the pattern is well-formed
	var out []api.BusyEntry
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // detached just now
		}
		file := strings.TrimSuffix(string(text), "\n")
		m := mounts.At(filepath.Clean(strings.TrimSuffix(file, " (deleted)")))
		if m == nil || DeviceOf(m) != dev {
			continue
		}
		out = append(out, loopEntry(mounts, filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(name)))), file))
	}
	return out
}

func loopEntry(mounts MountTable, loop, file string) api.BusyEntry {
	e := api.BusyEntry{Command: "losetup -d " + loop, Use: "loop device " + loop, Path: human.Printable(file)}
	for _, m := range mounts {
		if m.Source == loop {
			e.Command = "umount " + human.Printable(m.Mountpoint)
			break
		}
	}
	return e
}

// mountedOn finds what is mounted inside.
func mountedOn(mounts MountTable, dev api.Device) []api.BusyEntry {
	var out []api.BusyEntry
	for _, m := range mounts {
		if p := mounts.ByID(m.Parent); IsJVSFS(p) && DeviceOf(p) == dev && m.ID != p.ID && m.Mountpoint != p.Mountpoint {
			out = append(out, api.BusyEntry{Command: "umount " + human.Printable(m.Mountpoint), Use: "mount (" + m.FSType + ")", Path: human.Printable(m.Mountpoint)})
		}
	}
	return out
}
