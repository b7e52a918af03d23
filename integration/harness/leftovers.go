package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/assert"
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

// RepairState runs doctor --repair until it has removed the state of daemons that have no mount. It keeps
// that while the kernel has a mount with the device number anywhere, which may be another test's.
func (m *Mount) RepairState() {
	m.T.Helper()
	EventuallyNoted(m.T, "doctor --repair removes what killed daemons left", func() (bool, string) {
		m.CLI("doctor", "--repair")
		return m.noStateLeft()
	})
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
