package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
)

// leaseOf is a configuration for leases of some duration.
func leaseOf(t *testing.T, duration time.Duration) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lease.yaml")
	text := fmt.Sprintf("lease_duration: %s\nrenew_interval: 100ms\nmax_clock_skew: 50ms\nsteal_grace: 50ms\n", duration)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// startExec starts jvsfs exec on an unmounted worktree: a process of jvsfs that has the gate. It ends with the test. It
// tells whether exec holds: on a busy machine a short lease is over before it has begun.
func startExec(t *testing.T, main, config string) (cmd *exec.Cmd, in io.Closer, holds bool) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe", "exec", "--config", config, main, "--", "sh", "-c", "echo go; read x; true")
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // ends the command of exec, whatever became of exec
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	_, err = io.ReadFull(out, make([]byte, 3))
	return cmd, in, err == nil
}

// holdingExec is startExec with a lease that nobody waits for the end of.
func holdingExec(t *testing.T, main string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd, in, holds := startExec(t, main, leaseOf(t, time.Minute))
	require.True(t, holds)
	return cmd, in
}

// stoppedExec stops exec while it holds a lease that will soon be over. Where the machine is so busy that exec loses the
// lease by itself, the next one gets one of twice the duration.
func stoppedExec(t *testing.T, main string) (cmd *exec.Cmd, config string) {
	t.Helper()
	for duration := 400 * time.Millisecond; duration < time.Minute; duration *= 2 {
		config := leaseOf(t, duration)
		cmd, in, holds := startExec(t, main, config)
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		if holds && gateIsOf(t, main, cmd.Process.Pid) {
			return cmd, config
		}
		t.Logf("a lease of %s was too short", duration)
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		_ = cmd.Wait() // how it ended says nothing: its lease was lost
	}
	t.Fatal("exec never held until it was stopped")
	return nil, ""
}

// gateIsOf tells whether a process has the gate of main's lease.
func gateIsOf(t *testing.T, main string, pid int) bool {
	t.Helper()
	dir, err := lease.OpenDir(filepath.Join(filepath.Dir(main), ".jvs/locks"))
	require.NoError(t, err)
	defer dir.Close()
	pids, err := dir.Store("main").GateOwners()
	require.NoError(t, err)
	return slices.Contains(pids, pid)
}

func tokenOf(t *testing.T, main string) lease.Token {
	t.Helper()
	code, out, errs := command("lock", "status", "--json", main)
	require.Equal(t, api.ExitOK, code, errs)
	var status struct {
		Token lease.Token `json:"fencing_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.NotZero(t, status.Token, out)
	return status.Token
}

// The gate of a stopped daemon is in the way of a steal that everything else allows. --fence ends it, and only it.
func TestStealFenceEndsTheStoppedDaemonThatKeepsTheGate(t *testing.T) {
	main, _ := testkit.Repository(t)
	me := strconv.Itoa(os.Getpid())
	lasting, in := holdingExec(t, main)
	code, _, errs := command("lock", "steal", "--yes", "--fence", "--config", leaseOf(t, time.Minute), "--pid", me, main)
	require.Equal(t, api.ExitConflict, code, "a lease that lasts is not stolen, with --fence or without: %s", errs)
	require.NoError(t, in.Close())
	require.NoError(t, lasting.Wait(), "it was not ended")

	daemon, config := stoppedExec(t, main)
	before := tokenOf(t, main)
	require.Eventually(t, func() bool { // until the lease has run out and the gate alone is in the way
		code, _, errs = command("lock", "steal", "--yes", "--config", config, "--pid", me, main)
		return code == api.ExitConflict && strings.Contains(errs, "pid "+strconv.Itoa(daemon.Process.Pid)+" (stopped)")
	}, 2*time.Minute, 50*time.Millisecond, "%s", errs)
	require.Contains(t, errs, "lock steal --fence")

	// Its own lease lasts: on a busy machine one as short as the daemon's was is over before it is taken.
	code, out, errs := command("lock", "steal", "--yes", "--fence", "--json", "--config", leaseOf(t, time.Minute), "--pid", me, main)
	require.Equal(t, api.ExitOK, code, errs)
	require.Contains(t, errs, "ended process "+strconv.Itoa(daemon.Process.Pid)+" (stopped)")
	require.Contains(t, out, fmt.Sprintf(`"fencing_token": %d,`, before+1))
	require.Error(t, daemon.Wait())
	require.Equal(t, syscall.SIGKILL, daemon.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// Whoever else has the file locked is named, and lives.
func TestStealFenceEndsNoProcessThatIsNotProvenTheDaemon(t *testing.T) {
	main, locks := testkit.Repository(t)
	me := strconv.Itoa(os.Getpid())
	code, _, errs := command("lock", "acquire", "--pid", me, main)
	require.Equal(t, api.ExitOK, code, errs)
	gate := filepath.Join(locks, "main.gate")
	other := exec.Command("flock", "--shared", gate, "sh", "-c", "echo go; read x; true")
	in, err := other.StdinPipe()
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = io.ReadFull(out, make([]byte, 3))
	require.NoError(t, err)
	dir, err := lease.OpenDir(locks)
	require.NoError(t, err)
	defer dir.Close()
	store := dir.Store("main")
	pids, err := store.GateOwners()
	require.NoError(t, err)
	require.NotEmpty(t, pids)
	err = lockop.Fence(context.Background(), store, uint32(os.Getuid()), func(text string) { t.Error(text) })
	require.ErrorContains(t, err, "it is not jvsfs")
	require.Equal(t, api.ExitConflict, api.AsFailure(err).Exit())
	require.NoError(t, in.Close())
	require.NoError(t, other.Wait(), "it was not ended")
}
