package lockop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// heldFor names the worktree that the test binary holds instead of testing.
const heldFor = "JVSFS_TEST_HOLD"

func TestMain(m *testing.M) {
	if main := os.Getenv(heldFor); main != "" {
		if err := hold(main); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// hold takes the lease of a worktree and keeps its gate until standard input ends.
func hold(main string) error {
	p, err := place.WorktreeOf(main, "")
	if err != nil {
		return err
	}
	l, err := OpenLocal(p, Terms{Policy: record.DefaultPolicy()})
	if err != nil {
		return err
	}
	h, err := l.resolver.HolderFor(os.Getpid(), "tree", "")
	if err != nil {
		return err
	}
	k := l.Keeper(nil, h)
	if _, err := k.Acquire(context.Background(), h); err != nil {
		return err
	}
	fmt.Println("go")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(k.Close(), l.Close())
}

// What may be fenced is jvsfs by its name: also one that was replaced on the disk, and the complete program.
func TestThisProgramHasOneName(t *testing.T) {
	for _, exe := range []string{"/usr/bin/jvsfs", "/usr/bin/jvsfs (deleted)", "/usr/lib/jvsfs/jvsfs-etcd", "/usr/lib/jvsfs/jvsfs-etcd (deleted)"} {
		require.Equal(t, "jvsfs", programName(exe))
	}
	require.NotEqual(t, "jvsfs", programName("/usr/bin/jvsfs-etcdctl"))
}

// holder starts a process of this program that has the gate. It ends with the test.
func holder(t *testing.T, main string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), heldFor+"="+main, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	_, err = io.ReadFull(out, make([]byte, 3))
	require.NoError(t, err)
	return cmd
}

func TestProveRefuses(t *testing.T) {
	main, locks := testkit.Repository(t)
	daemon := holder(t, main)
	pid := daemon.Process.Pid
	dir, err := lease.OpenDir(locks)
	require.NoError(t, err)
	defer dir.Close()
	store, uid := dir.Store("main"), uint32(os.Getuid())

	s, err := prove(store, pid, uid)
	require.NoError(t, err, "it is what it is")
	require.Equal(t, "running", s.what)
	host.CloseFile(s.fd)
	for name, c := range map[string]struct {
		pid  int
		by   uint32
		id   lease.WorktreeID
		says string
	}{
		"another user's":     {pid, uid + 1, "main", "belongs to user"},
		"another worktree's": {pid, uid, "other", "let the gate go"},
		"this process":       {os.Getpid(), uid, "main", "this very process"},
		"not to be seen":     {0, uid, "main", "pid namespace"},
		"gone":               {1<<22 - 1, uid, "main", ""},
	} {
		s, err := prove(dir.Store(c.id), c.pid, c.by)
		require.ErrorContains(t, err, c.says, name)
		require.True(t, s.fd == nil || s.fd.Close() != nil, "%s: the descriptor is not left open", name)
	}
	s.fd, err = process.OpenPidfd(pid)
	require.NoError(t, err)
	defer host.CloseFile(s.fd)
	require.ErrorContains(t, s.check(store, 1, uid), "just ended", "another start time is another process")
	require.True(t, process.PidfdAlive(s.fd))
}
