package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/stretchr/testify/require"
)

// short is a configuration under which a lease is soon over.
func short(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "short.yaml")
	text := "lease_duration: 400ms\nrenew_interval: 100ms\nmax_clock_skew: 50ms\nsteal_grace: 50ms\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// holdingExec starts jvsfs exec on an unmounted worktree: a process of jvsfs that has the gate. It ends with the test.
func holdingExec(t *testing.T, main string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "exec", "--config", short(t), main, "--", "sh", "-c", "echo go; read x; true")
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
	require.NoError(t, err)
	return cmd
}

// The gate of a stopped daemon is in the way of a steal that everything else allows. --fence ends it, and only it.
func TestStealFenceEndsTheStoppedDaemonThatKeepsTheGate(t *testing.T) {
	main, _ := repository(t)
	me, config := strconv.Itoa(os.Getpid()), short(t)
	daemon := holdingExec(t, main)
	code, _, errs := command("lock", "steal", "--yes", "--fence", "--config", config, "--pid", me, main)
	require.Equal(t, api.ExitConflict, code, "a lease that lasts is not stolen, with --fence or without: %s", errs)
	require.NoError(t, daemon.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { // until the lease has run out and the gate alone is in the way
		code, _, errs = command("lock", "steal", "--yes", "--config", config, "--pid", me, main)
		return code == api.ExitConflict && strings.Contains(errs, "pid "+strconv.Itoa(daemon.Process.Pid)+" (stopped)")
	}, 30*time.Second, 50*time.Millisecond, "%s", errs)
	require.Contains(t, errs, "lock steal --fence")

	code, out, errs := command("lock", "steal", "--yes", "--fence", "--json", "--config", config, "--pid", me, main)
	require.Equal(t, api.ExitOK, code, errs)
	require.Contains(t, errs, "ended process "+strconv.Itoa(daemon.Process.Pid)+" (stopped)")
	require.Contains(t, out, `"fencing_token": 2,`)
	require.Error(t, daemon.Wait())
	require.Equal(t, syscall.SIGKILL, daemon.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// Whoever else has the file locked is named, and lives.
func TestFenceEndsNobodyThatIsNotProven(t *testing.T) {
	main, locks := repository(t)
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
	defer dir.Close() //nolint:errcheck // only read from
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
