package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place of an open object: its device and the mount it was reached by.
type opened struct {
	dev   device
	mount uint64
}

// maxBusyPerProcess bounds the report on one process.
const maxBusyPerProcess = 8

// busyScan says what it looks for.
type busyScan struct {
	proc  string // "/proc"
	want  func(o opened, path string) bool
	maps  func(d device, path string) bool // nil: mappings do not count
	skip  int                              // a pid to leave out, 0 = none
	limit int
}

// whoKeepsBusy finds the processes that use the file system dev in any mount
// namespace that can be seen. It never asks the file system itself: the links
// in /proc are jumped through and the inode's cached device number is read with
// AT_STATX_DONT_SYNC, which sends a FUSE daemon nothing.
func whoKeepsBusy(dev device, skip int) []busyEntry {
	scan := busyScan{
		proc: "/proc", skip: skip, limit: maxBusyPerProcess,
		want: func(o opened, _ string) bool { return o.dev == dev },
		maps: func(d device, _ string) bool { return d == dev },
	}
	return append(scan.run(), keptByKernel(dev)...)
}

// run scans all processes; those that vanish or may not be looked at are left
// out.
func (s busyScan) run() []busyEntry {
	names, err := os.ReadDir(s.proc)
	if err != nil {
		return nil
	}
	var out []busyEntry
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == s.skip {
			continue
		}
		out = append(out, s.process(pid)...)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out
}

func (s busyScan) process(pid int) []busyEntry {
	dir := filepath.Join(s.proc, strconv.Itoa(pid))
	var out []busyEntry
	add := func(use, path string) {
		if len(out) < s.limit {
			out = append(out, busyEntry{PID: pid, Command: commandLine(pid), Use: use, Path: printable(path)})
		}
	}
	for _, name := range []string{"cwd", "root", "exe"} {
		if path, ok := s.link(filepath.Join(dir, name)); ok {
			add(name, path)
		}
	}
	fds, _ := os.ReadDir(filepath.Join(dir, "fd")) // not ours to look at: nothing to report
	for _, fd := range fds {
		if path, ok := s.link(filepath.Join(dir, "fd", fd.Name())); ok {
			add("fd "+fd.Name(), path)
		}
	}
	for _, path := range s.mapped(filepath.Join(dir, "maps")) {
		add("map", path)
	}
	return out
}

// link looks at one magic link of /proc.
func (s busyScan) link(name string) (string, bool) {
	path, err := os.Readlink(name)
	if err != nil || !strings.HasPrefix(path, "/") {
		return "", false // gone, forbidden, or a socket, pipe or anonymous inode
	}
	o, err := openedBy(name)
	if err != nil || !s.want(o, path) {
		return "", false
	}
	return path, true
}

func openedBy(name string) (opened, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, name, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return opened{dev: device{st.Dev_major, st.Dev_minor}, mount: st.Mnt_id}, err
}

func (s busyScan) mapped(name string) []string {
	if s.maps == nil {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	return parseMaps(f, s.maps)
}

// parseMaps lists the files, each once, of /proc/PID/maps that want accepts.
// A line is "start-end perms offset major:minor inode path", the device in hex.
func parseMaps(r io.Reader, want func(device, string) bool) []string {
	var out []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 6 {
			continue
		}
		dev, err := parseHexDevice(f[3])
		path := strings.Join(f[5:], " ")
		if err != nil || seen[path] || !want(dev, path) {
			continue
		}
		seen[path] = true
		out = append(out, path)
	}
	return out
}

func parseHexDevice(s string) (device, error) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return device{}, fmt.Errorf("device %q", s)
	}
	a, err := strconv.ParseUint(major, 16, 32)
	if err != nil {
		return device{}, err
	}
	b, err := strconv.ParseUint(minor, 16, 32)
	return device{uint32(a), uint32(b)}, err
}
