package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// policy is the times of a lease.
type policy struct{ lease, renew, skew, grace time.Duration }

var (
	// calm is for tests in which no lease may end by itself.
	calm = policy{30 * time.Second, 10 * time.Second, 2 * time.Second, time.Second}
	// hasty is for tests that wait for the end of a lease: short, yet long
	// enough for a loaded machine to renew in time.
	hasty = policy{900 * time.Millisecond, 200 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond}
)

func (p policy) args() []string {
	return []string{"--lease-duration", p.lease.String(), "--renew-interval", p.renew.String(),
		"--max-clock-skew", p.skew.String(), "--steal-grace", p.grace.String()}
}

// mountOptions say what to mount and how; the zero value is a plain directory
// at a mountpoint of its own, with calm times and jvsfs's own defaults.
type mountOptions struct {
	repository bool // a JVS repository root: .jvs, main, worktrees/a, worktrees/b
	inPlace    bool
	policy     policy
	onFree     string
	extra      []string
	prepare    func(t testing.TB, worktree string) // fills the (main) worktree
}

// mount is one run of jvsfs mount. View is a private way to the backing tree
// that neither the mount nor looking changes.
type mount struct {
	t          *testing.T
	bin, base  string
	opts       mountOptions
	Source     string
	Mountpoint string
	LockDir    string
	View       string
	dead       bool // the test killed the daemon
	mounted    bool
	wasMounted bool
	openBefore map[string]string

	socketsBefore []string
}

// newMount prepares a tree and mounts it; at the end of the test it unmounts
// and checks that nothing is left.
func newMount(t *testing.T, o mountOptions) *mount {
	t.Helper()
	m := prepareMount(t, o)
	m.mount()
	return m
}

// prepareMount is newMount short of the mount itself.
func prepareMount(t *testing.T, o mountOptions) *mount {
	t.Helper()
	requireFuse(t)
	if o.policy == (policy{}) {
		o.policy = calm
	}
	m := &mount{t: t, bin: requireBinary(t), base: newBase(t), opts: o}
	var err error
	m.openBefore = openFiles()
	m.socketsBefore, err = orphanSockets()
	require.NoError(t, err)
	m.checkNothingLeft()
	m.Source = filepath.Join(m.base, "source")
	require.NoError(t, os.Mkdir(m.Source, 0o755))
	m.Mountpoint, m.LockDir = m.Source, filepath.Join(m.base, "control")
	worktree := m.Source
	if o.repository {
		prepareRepository(t, m.Source)
		m.LockDir, worktree = filepath.Join(m.Source, ".jvs", "locks"), filepath.Join(m.Source, "main")
	}
	if o.prepare != nil {
		o.prepare(t, worktree)
	}
	if !o.inPlace {
		m.Mountpoint = filepath.Join(m.base, "mnt")
		require.NoError(t, os.Mkdir(m.Mountpoint, 0o755))
	}
	m.View = bindView(t, m.Source, filepath.Join(m.base, "view"), 0)
	if o.repository {
		// In place the source's own name leads into the mount.
		m.LockDir = filepath.Join(m.View, ".jvs", "locks")
	}
	t.Cleanup(m.cleanup)
	return m
}

func prepareRepository(t testing.TB, root string) {
	t.Helper()
	for _, dir := range []string{".jvs", "main", "worktrees", "worktrees/a", "worktrees/b"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, ".jvs", "format_version"), []byte("1\n"), 0o644))
}

// mount runs jvsfs mount, which must be done when it returns.
func (m *mount) mount() {
	m.t.Helper()
	args := []string{"mount", m.Source}
	if !m.opts.inPlace {
		args = append(args, m.Mountpoint)
	}
	if !m.opts.repository {
		args = append(args, "--control", m.LockDir)
	}
	args = append(args, m.opts.policy.args()...)
	if m.opts.onFree != "" {
		args = append(args, "--on-free", m.opts.onFree)
	}
	args = append(args, "--log-file", m.logFile())
	m.mounted, m.wasMounted = true, true
	m.cliOK(append(args, m.opts.extra...)...)
	require.Equal(m.t, "fuse.jvsfs", topType(m.t, m.Mountpoint), "mount has returned without a mount")
}

func (m *mount) logFile() string { return filepath.Join(m.base, "daemon.log") }

// CLI runs jvsfs with args. A call that does not come back within the test's
// patience, or leaves somebody holding its output, fails the test.
func (m *mount) CLI(args ...string) (stdout, stderr string, exit int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	if m.t.Context().Err() != nil { // in a cleanup
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	defer cancel()
	cmd := exec.CommandContext(ctx, m.bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, "/"
	cmd.WaitDelay = 3 * time.Second
	err := cmd.Run()
	var exited *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		m.t.Errorf("jvsfs %v: the output stays open after the end of the command", args)
	case ctx.Err() != nil:
		m.t.Errorf("jvsfs %v: no end within %s\n%s%s", args, patience, out.String(), errs.String())
		return out.String(), errs.String(), -1
	case err != nil && !errors.As(err, &exited):
		m.t.Errorf("jvsfs %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// cliOK is CLI for commands that must succeed.
func (m *mount) cliOK(args ...string) string {
	m.t.Helper()
	out, errs, exit := m.CLI(args...)
	require.Zero(m.t, exit, "jvsfs %v\n%s%s%s", args, out, errs, m.logTail())
	return out
}

func (m *mount) logTail() string {
	text, err := os.ReadFile(m.logFile())
	if err != nil {
		return ""
	}
	return "\ndaemon log:\n" + string(text[max(0, len(text)-4000):])
}

// At is a path within the mount.
func (m *mount) At(rel ...string) string {
	return filepath.Join(append([]string{m.Mountpoint}, rel...)...)
}

// Behind is the same path on the backing side.
func (m *mount) Behind(rel ...string) string {
	return filepath.Join(append([]string{m.View}, rel...)...)
}

// digest is the backing tree without the lock directory, whose files are
// jvsfs's own and change with every renewal.
func (m *mount) digest() digest {
	m.t.Helper()
	return takeDigest(m.t, m.View, m.skipped()...)
}

func (m *mount) skipped() []string {
	if m.opts.repository {
		return []string{".jvs/locks", ".jvs/audit"}
	}
	return nil
}

// unmount is jvsfs umount, once. Whoever is in the middle of a call keeps a
// mount busy, as with every file system: that alone is tried again.
func (m *mount) unmount() {
	m.t.Helper()
	if !m.mounted {
		return
	}
	args := []string{"umount", m.Mountpoint}
	if m.dead {
		args = append(args, "--bare")
	}
	eventuallyNoted(m.t, "jvsfs umount", func() (bool, string) {
		out, errs, exit := m.CLI(args...)
		require.Contains(m.t, []int{0, exitBusy}, exit, "%s%s%s", out, errs, m.logTail())
		return exit == 0, errs
	})
	m.mounted = false
}

// cleanup unmounts and checks that nothing stays; what does stay is removed
// by force so that one failure does not become many.
func (m *mount) cleanup() {
	defer m.force()
	m.unmount()
	m.checkNothingLeft()
	m.checkLog()
	if m.t.Failed() {
		m.t.Log(m.logTail())
	}
}

// checkLog looks for what a daemon says only when it is broken; a race in it
// shows nowhere else.
func (m *mount) checkLog() {
	m.t.Helper()
	text, err := os.ReadFile(m.logFile())
	if !m.wasMounted {
		return
	}
	require.NoError(m.t, err)
	for _, sign := range []string{"DATA RACE", "panic:", "fatal error:", "goroutine 1 ["} {
		require.NotContains(m.t, string(text), sign, "in the daemon's log")
	}
}

// force ends what this mount may have left. Only processes of our own binary,
// which was built for this run, are touched.
func (m *mount) force() {
	if !slices.Contains([]string{"", "ext4"}, topType(m.t, m.Mountpoint)) {
		_ = unix.Unmount(m.Mountpoint, unix.MNT_DETACH)
	}
	for _, pid := range processesOf(m.bin) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// daemons are the living processes of our binary.
func (m *mount) daemons() []int {
	return slices.DeleteFunc(processesOf(m.bin), func(pid int) bool { return !isDaemon(pid) })
}

// isDaemon tells a daemon from its guardian and from commands.
func isDaemon(pid int) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(args[bytes.IndexByte(args, 0)+1:], []byte("mount\x00"))
}

func processesOf(bin string) []int {
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	var pids []int
	for _, exe := range exes {
		if target, err := os.Readlink(exe); err == nil && target == bin {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// record is what the tests need of a lease record (locking spec v6.3).
type record struct {
	HolderID     string      `json:"holder_id"`
	Token        json.Number `json:"fencing_token"`
	ExpiresAt    time.Time   `json:"lease_expires_at"`
	RenewedAt    time.Time   `json:"last_renewed_at"`
	SkewMS       int64       `json:"max_clock_skew_ms"`
	StealGraceMS int64       `json:"steal_grace_ms"`
	AcquireSeq   uint64      `json:"acquire_seq"`
	Released     bool        `json:"released"`
}

// token is the record's number; tokens order as numbers, not as text.
func (r record) token(t testing.TB) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.Token.String(), 10, 64)
	require.NoError(t, err)
	return n
}
