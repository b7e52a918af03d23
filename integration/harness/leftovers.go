package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openFiles are the descriptors of the test process by number.
func openFiles() map[string]string {
	all := map[string]string{}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		// The polling process is no leak, nor is the glob's own directory.
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasSuffix(target, "/fd") {
			all[filepath.Base(link)] = target
		}
	}
	return all
}

// checkNothingLeft demands that no mount, no process and no descriptor of
// jvsfs is there: before a test, so that it does not answer for another, and
// after it.
func (m *Mount) checkNothingLeft() {
	m.T.Helper()
	Eventually(m.T, "no mount of ours is left", func() bool {
		left, err := MountsBelow(Scratch)
		for _, point := range left {
			if strings.Contains(point, "fuse") {
				return false
			}
		}
		return err == nil
	})
	Eventually(m.T, "no process of ours is left", func() bool { return len(ProcessesOf(m.Bin)) == 0 })
	for fd, target := range openFiles() {
		assert.Equal(m.T, m.openBefore[fd], target, "descriptor %s has been left open", fd)
	}
	assert.Empty(m.T, children(), "child processes left")
	EventuallyNoted(m.T, "no control socket of ours is left", m.noStateLeft)
}

// RepairState runs doctor --repair until it has removed the state of daemons that have no mount. It keeps that while the kernel has a FUSE
// mount with the device number anywhere. Such a one of another story may be there for ever: a number that is free is soon the next mount's.
func (m *Mount) RepairState() {
	m.T.Helper()
	EventuallyNoted(m.T, "doctor --repair removes what killed daemons left", func() (bool, string) {
		before := m.connections()
		m.CLI("doctor", "--repair")
		m.forgetTaken(before)
		return m.noStateLeft()
	})
}

// forgetTaken removes the state of those mounts whose device number another one had before doctor's look and has still, and what lies
// beside it: the other one may have gone at the next look.
func (m *Mount) forgetTaken(before map[int]time.Time) {
	m.T.Helper()
	left, err := orphanSockets()
	require.NoError(m.T, err)
	born := m.connections()
	for _, path := range left {
		var major, minor int
		_, err := fmt.Sscanf(filepath.Base(path), "dev-%d-%d.state", &major, &minor)
		st, err2 := os.Stat(path)
		if _, was := before[minor]; err == nil && err2 == nil && was && born[minor].After(st.ModTime()) {
			m.T.Logf("another mount has the number of %s by now", path)
			beside, err := filepath.Glob(strings.TrimSuffix(path, "state") + "*")
			require.NoError(m.T, err)
			for _, one := range beside {
				require.NoError(m.T, os.Remove(one))
			}
		}
	}
}

// connections says since when the kernel has each FUSE mount of the machine, by the device number.
func (m *Mount) connections() map[int]time.Time {
	m.T.Helper()
	ctl, err := os.MkdirTemp(m.Base, "fusectl-")
	require.NoError(m.T, err)
	require.NoError(m.T, unix.Mount("none", ctl, "fusectl", 0, ""))
	defer func() { require.NoError(m.T, unix.Unmount(ctl, 0)) }()
	all, err := os.ReadDir(ctl)
	require.NoError(m.T, err)
	born := map[int]time.Time{}
	for _, one := range all {
		info, err := one.Info()
		minor, err2 := strconv.Atoi(one.Name())
		if err == nil && err2 == nil { // it may have ended
			born[minor] = info.ModTime()
		}
	}
	return born
}

func (m *Mount) noStateLeft() (bool, string) {
	left, err := orphanSockets()
	left = slices.DeleteFunc(left, func(s string) bool { return slices.Contains(m.socketsBefore, s) })
	return err == nil && len(left) == 0, fmt.Sprint(left, err)
}

// orphanSockets are control sockets, and the state beside them, of devices that
// are not mounted any more.
// Those of other people's mounts are not ours to judge.
func orphanSockets() ([]string, error) {
	mounted := map[string]bool{}
	infos, err := mountinfo.GetMounts(nil)
	for _, i := range infos {
		for _, kind := range []string{"sock", "state", "leases"} {
			mounted[fmt.Sprintf("/run/jvsfs/dev-%d-%d.%s", i.Major, i.Minor, kind)] = true
		}
	}
	sockets, _ := filepath.Glob("/run/jvsfs/dev-*")
	return slices.DeleteFunc(sockets, func(s string) bool { return mounted[s] }), err
}

// children are the processes that this one has not waited for.
func children() []string {
	var pids []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}
