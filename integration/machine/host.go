package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Host is a machine: a process that is the init of its namespaces, and the way into them.
type Host struct {
	T    testing.TB
	Name string
	Dir  string        // what only this host uses; every host sees it
	IP   string        // of the link that Join makes
	Init int           // in the pid namespace of the test
	Most time.Duration // a command takes
	net  bool
	link string    // at the hub's end
	cmd  *exec.Cmd // unshare, which takes everything with it when it ends
}

// Network has the host get a network of its own. Without it the host is in that of the test.
const Network = "\x00network"

// first is process 1 of a host: it says who it is, and then only waits for orphans. Directories that a machine has for itself become its
// own. The boot id tells jvsfs which records are of processes of this machine.
const first = `set -e
name=$1 dir=$2
shift 2
hostname "$name"
mount --bind "$dir/boot_id" /proc/sys/kernel/random/boot_id
for own in /run /run/jvsfs /var/lib/jvsfs /mnt "$@"; do
  mkdir -p "$own"
  mount -t tmpfs -o mode=755 tmpfs "$own"
done
ip link set lo up 2>/dev/null || :
echo up >"$dir/up"
trap : TERM INT HUP
while :; do sleep 1000 & wait $! || :; done`

// boots counts hosts, for boot clocks that are far apart.
var boots atomic.Int64

// New starts a host. It ends with the test. own are directories that it has for itself beside the usual ones, and Network.
func New(t testing.TB, name string, own ...string) *Host {
	t.Helper()
	h := &Host{T: t, Name: name, Dir: harness.NewBase(t), Most: 2 * harness.Patience}
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.File("boot_id"), id, 0o644)) //nolint:gosec // as the kernel has it
	h.cmd = exec.Command("unshare", h.unshare(own, boots.Add(1))...)
	out, err := os.Create(h.File("init.log"))
	require.NoError(t, err)
	defer out.Close() //nolint:errcheck // the process has its own
	h.cmd.Stdout, h.cmd.Stderr, h.cmd.Dir = out, out, "/"
	require.NoError(t, h.cmd.Start())
	t.Cleanup(h.end)
	harness.EventuallyNoted(t, name+" is up", func() (bool, string) {
		text, _ := os.ReadFile(h.File("init.log"))
		_, err := os.Stat(h.File("up"))
		return err == nil && h.findInit(), string(text)
	})
	return h
}

func (h *Host) unshare(own []string, boot int64) []string {
	args := []string{"--mount", "--uts", "--pid", "--time", "--boottime", strconv.FormatInt(boot*100_000, 10),
		"--fork", "--kill-child", "--mount-proc", "--propagation", "private"}
	var dirs []string
	for _, dir := range own {
		if dir == Network {
			h.net, args = true, append(args, "--net")
		} else {
			dirs = append(dirs, dir)
		}
	}
	return append(append(args, "bash", "-c", first, h.Name, h.Name, h.Dir), dirs...)
}

// For is the same host as another test has it: what fails there fails that test.
func (h *Host) For(t testing.TB) *Host {
	other := *h
	other.T = t
	return &other
}

// findInit is whether unshare has its one child.
func (h *Host) findInit() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", h.cmd.Process.Pid, h.cmd.Process.Pid))
	if err != nil {
		return false
	}
	h.Init, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil
}

// end takes the host away as a power failure does. Its init is killed first: with it every process of the namespace has ended when
// unshare returns, so nothing is left that keeps a mount.
func (h *Host) end() {
	_ = unix.Kill(h.Init, unix.SIGKILL)
	_ = h.cmd.Wait() // the exit code is the signal
}

// File is a file that only this host uses.
func (h *Host) File(name string) string { return filepath.Join(h.Dir, name) }

// Logs are the ends of what the host has logged, for the message of a failure.
func (h *Host) Logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(h.File("*.log"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			fmt.Fprintf(&all, "\n%s %s:\n%s", h.Name, filepath.Base(file), text[max(0, len(text)-3000):])
		}
	}
	return all.String()
}
