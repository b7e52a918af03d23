//go:build jvsfs_hosts

package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// host is a machine: a process that is the init of its namespaces, and the way into them.
type host struct {
	t    testing.TB
	name string
	dir  string // what only this host uses; every host sees it
	ip   string
	init int           // in the pid namespace of the test
	most time.Duration // a command takes
	cmd  *exec.Cmd     // unshare, which takes everything with it when it ends
}

// hostInit is process 1 of a host: it says who it is, and then only waits for orphans. Directories that a machine has for itself
// become its own. The boot id tells jvsfs which records are of processes of this machine.
const hostInit = `set -e
hostname "$1"
mount --bind "$2/boot_id" /proc/sys/kernel/random/boot_id
for dir in /run /run/jvsfs /run/gluster /var/lib/jvsfs /var/log/jvsfs /var/lib/glusterd /var/log/glusterfs /var/log/ceph /run/ceph /mnt; do
  mkdir -p "$dir"
  mount -t tmpfs -o mode=755 tmpfs "$dir"
done
ip link set lo up
echo up >"$2/up"
trap : TERM INT HUP
while :; do sleep 1000 & wait $! || :; done`

// boots counts hosts, for boot clocks that are far apart.
var boots int

// newHost starts a host without a network. It ends with the test.
func newHost(t testing.TB, name string) *host {
	t.Helper()
	h := &host{t: t, name: name, dir: harness.NewBase(t), most: 2 * harness.Patience}
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.file("boot_id"), id, 0o644))
	boots++
	h.cmd = exec.Command("unshare", "--mount", "--uts", "--net", "--pid", "--time", "--boottime", strconv.Itoa(boots*100_000),
		"--fork", "--kill-child", "--mount-proc", "--propagation", "private", "bash", "-c", hostInit, name, name, h.dir)
	out, err := os.Create(h.file("init.log"))
	require.NoError(t, err)
	defer out.Close() //nolint:errcheck // the process has its own
	h.cmd.Stdout, h.cmd.Stderr, h.cmd.Dir = out, out, "/"
	require.NoError(t, h.cmd.Start())
	t.Cleanup(h.end)
	harness.EventuallyNoted(t, name+" is up", func() (bool, string) {
		text, _ := os.ReadFile(h.file("init.log"))
		_, err := os.Stat(h.file("up"))
		return err == nil && h.findInit(), string(text)
	})
	return h
}

// findInit is whether unshare has its one child.
func (h *host) findInit() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", h.cmd.Process.Pid, h.cmd.Process.Pid))
	if err != nil {
		return false
	}
	h.init, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil
}

// end takes the host away as a power failure does. Its init is killed first: with it every process of the namespace has ended when
// unshare returns, so nothing is left that keeps a mount.
func (h *host) end() {
	_ = unix.Kill(h.init, unix.SIGKILL)
	_ = h.cmd.Wait() // the exit code is the signal
}

// file is a file that only this host uses.
func (h *host) file(name string) string { return filepath.Join(h.dir, name) }

// command is a command on the host.
func (h *host) command(ctx context.Context, argv ...string) *exec.Cmd {
	in := []string{"-t", strconv.Itoa(h.init), "-m", "-u", "-n", "-p", "-T", "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(in, argv...)...)
	cmd.Dir = "/"
	return cmd
}

// run runs a command on the host to its end.
func (h *host) run(argv ...string) (said string, exit int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), h.most)
	defer cancel()
	cmd := h.command(ctx, argv...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = harness.Patience
	err := cmd.Run()
	var exited *exec.ExitError
	if ctx.Err() != nil {
		h.t.Fatalf("%s: %v has no end\n%s%s", h.name, argv, out.String(), h.logs())
	}
	if err != nil && !errors.As(err, &exited) {
		h.t.Fatalf("%s: %v: %v\n%s", h.name, argv, err, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// must is run for what must succeed.
func (h *host) must(argv ...string) string {
	h.t.Helper()
	said, exit := h.run(argv...)
	require.Zero(h.t, exit, "%s: %v\n%s%s", h.name, argv, said, h.logs())
	return said
}

// sh is a line of shell that must succeed.
func (h *host) sh(line string) string {
	h.t.Helper()
	return h.must("sh", "-c", line)
}

// logs are the ends of what the host has logged, for the message of a failure.
func (h *host) logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(h.file("*.log"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			fmt.Fprintf(&all, "\n%s %s:\n%s", h.name, filepath.Base(file), text[max(0, len(text)-3000):])
		}
	}
	return all.String()
}

// job is a command that runs on a host beside the test.
type job struct {
	h   *host
	cmd *exec.Cmd
	out string
}

// start starts a command on the host. It ends with the host.
func (h *host) start(argv ...string) *job {
	h.t.Helper()
	f, err := os.CreateTemp(h.dir, "job-")
	require.NoError(h.t, err)
	defer f.Close() //nolint:errcheck // the command has its own
	j := &job{h: h, cmd: h.command(context.Background(), argv...), out: f.Name()}
	j.cmd.Stdout, j.cmd.Stderr = f, f
	require.NoError(h.t, j.cmd.Start())
	h.t.Cleanup(func() {
		if j.cmd.ProcessState == nil {
			_ = j.cmd.Process.Kill() // its child ends with the host
			_ = j.cmd.Wait()
		}
	})
	return j
}

// said is what the command has printed so far.
func (j *job) said() string {
	text, err := os.ReadFile(j.out)
	require.NoError(j.h.t, err)
	return string(text)
}

// wait waits for the end.
func (j *job) wait() (exit int, said string) {
	j.h.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- j.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*harness.Patience)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		_ = j.cmd.Process.Kill()
		<-ended
		j.h.t.Fatalf("%s: %v has no end\n%s%s", j.h.name, j.cmd.Args, j.said(), j.h.logs())
	}
	return j.cmd.ProcessState.ExitCode(), j.said()
}
