package lease

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// asked reports whether a command has asked a daemon, or has ended.
func asked(b *harness.Background) bool {
	fds := fmt.Sprintf("/proc/%d/fd", b.PID())
	entries, err := os.ReadDir(fds)
	for _, e := range entries {
		if to, _ := os.Readlink(filepath.Join(fds, e.Name())); strings.HasPrefix(to, "socket:") {
			return true
		}
	}
	return err != nil || over(b.PID())
}

// said reports whether a command has said something, or has ended.
func said(b *harness.Background, text string) bool {
	all, err := os.ReadFile(b.File)
	return err == nil && strings.Contains(string(all), text) || over(b.PID())
}

// Ctrl-C ends every wait, and the command says what there is now.
func TestCtrlCEndsEveryWaitAndSaysWhatThereIs(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	holder := harness.StartActor(t, "holder")
	m.Acquire(holder)
	for name, c := range map[string]struct {
		args []string
		left string
	}{
		"acquire":  {[]string{"lock", "acquire", "--wait", "10m", "--pid", fmt.Sprint(os.Getpid()), m.Mountpoint}, "interrupted: " + m.Mountpoint + " is held by "},
		"exec":     {[]string{"exec", "--wait", "10m", m.Mountpoint, "--", "true"}, "interrupted: the command was not started"},
		"handover": {[]string{"lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.Mountpoint}, "interrupted: " + m.Mountpoint + " is held by "},
	} {
		t.Run(name, func(t *testing.T) {
			b := m.Start(append([]string{m.Bin}, c.args...)...)
			harness.Eventually(t, "it waits", func() bool {
				if name == "handover" {
					return harness.OfferedTo(t, m, "source") == "nowhere"
				}
				return said(b, "waiting for ")
			})
			require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
			exit, text := b.Wait()
			require.Equal(t, harness.ExitInterrupted, exit, text)
			require.Contains(t, text, c.left)
			holder.OK(m.Put("f"))
		})
	}
	m.Release(holder)
}

// A daemon that is stopped answers nobody. Who waits for it can be interrupted.
func TestCtrlCEndsAWaitForAStoppedDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	pid := m.Daemons()[0]
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGCONT) })
	for name, c := range map[string]struct {
		args []string
		left string
	}{
		"umount":  {[]string{"umount", m.Mountpoint}, m.Mountpoint + " is mounted"},
		"enforce": {[]string{"enforce", m.Mountpoint, "readonly"}, "the mode of " + m.Mountpoint + " cannot be told now"},
		"doctor":  {[]string{"doctor", m.Mountpoint}, "doctor has changed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.EventuallyNoted(t, "it is interrupted before it gives up", func() (bool, string) {
				b := m.Start(append([]string{m.Bin}, c.args...)...)
				harness.Eventually(t, "it asks", func() bool { return asked(b) })
				_ = unix.Kill(b.PID(), unix.SIGINT) // it may have ended
				exit, text := b.Wait()
				return exit == harness.ExitInterrupted && strings.Contains(text, "interrupted: "+c.left), text
			})
		})
	}
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))
	require.Contains(t, m.MustCLI("enforce", m.Mountpoint), "enforce")
}

// Ctrl-C while the daemon has not yet mounted ends it, and nothing is mounted. It waits as for a rename of a
// worktree's root through another mount (fusefs/serving.go).
func TestCtrlCEndsAMountThatWaits(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true})
	root, err := os.Open(m.Source)
	require.NoError(t, err)
	renames := unix.Flock_t{Type: unix.F_RDLCK, Start: 1, Len: 1}
	require.NoError(t, unix.FcntlFlock(root.Fd(), unix.F_OFD_SETLK, &renames))
	b := m.Start(m.Bin, "mount", m.Source)
	harness.Eventually(t, "there is a daemon", func() bool { return childOf(b.PID()) != 0 || over(b.PID()) })
	require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
	exit, text := b.Wait()
	require.Equal(t, harness.ExitInterrupted, exit, text)
	require.Contains(t, text, "interrupted: nothing is mounted at "+m.Source)
	all, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(m.Source))
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, root.Close())
	m.Mount()
}

// childOf is a child of a process, 0 if it has none. The kernel lists them by the thread that has started them.
func childOf(pid int) (child int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well-formed
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			return child
		}
	}
	return 0
}

// stateOf is the state of a process as in /proc/PID/stat, 0 if it is gone.
func stateOf(pid int) byte {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(text), ") "); ok {
		return rest[0]
	}
	return 0
}

// over reports whether a process has ended.
func over(pid int) bool {
	s := stateOf(pid)
	return s == 0 || s == 'Z'
}

// On a terminal a wait has one line, which goes when it ends; on a pipe it has a line each 10 s.
func TestAWaitForALeaseIsShown(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	holder := harness.StartActor(t, "holder")
	m.Acquire(holder)
	args := []string{m.Bin, "exec", "--wait", "10m", m.Mountpoint, "--", "echo", "it runs"}
	terminal, pipe := onTerminal(t, append([]string{"env", "TERM=xterm"}, args...)...), m.Start(args...)
	line := "s for the lease of " + m.Mountpoint + ", held by "
	harness.EventuallyNoted(t, "the pipe has a line", func() (bool, string) {
		all, err := os.ReadFile(pipe.File)
		require.NoError(t, err)
		return strings.Contains(string(all), line), string(all)
	})
	waiting := regexp.MustCompile("\rjvsfs: waiting [0-9]+s for the lease of ")
	harness.EventuallyNoted(t, "so has the terminal", func() (bool, string) { text := terminal.text(); return waiting.MatchString(text), text })
	m.Release(holder)
	exit, text := pipe.Wait()
	require.Zero(t, exit)
	require.Contains(t, text, "it runs\n")
	require.NotContains(t, text, "\r")
	terminal.ends(0)
	require.Contains(t, terminal.text(), "\r\x1b[K", "the line is gone")
	require.Contains(t, terminal.text(), "it runs")
}
