package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an etcd of the tests, of Debian's package etcd-server.
type server struct {
	dir, url, peer string
	args           []string
	over           *tls.Config
	cmd            *exec.Cmd
}

// program is etcd's path. Where it is absent there is nothing to test against, unless the caller says that it must be there.
func program(t testing.TB) string {
	path, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv("JVSFS_NEED_ETCD") != "" {
			t.Fatal(err)
		}
		t.Skip("no etcd here: apt-get install etcd-server")
	}
	return path
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func startServer(t testing.TB, more ...string) *server { return launch(t, "http", nil, more...) }

// launch starts one member that is the whole cluster.
func launch(t testing.TB, scheme string, over *tls.Config, more ...string) *server {
	s := newServer(t, scheme, "one")
	s.over = over
	s.args = append(s.args, append([]string{"--initial-cluster", "one=" + s.peer}, more...)...)
	s.start(t)
	s.ready(t)
	return s
}

func newServer(t testing.TB, scheme, name string) *server {
	s := &server{dir: quickDir(t), url: fmt.Sprintf("%s://127.0.0.1:%d", scheme, freePort(t)), peer: fmt.Sprintf("http://127.0.0.1:%d", freePort(t))}
	s.args = []string{"--name", name, "--data-dir", filepath.Join(s.dir, "data"), "--listen-client-urls", s.url, "--advertise-client-urls", s.url,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer, "--unsafe-no-fsync"}
	t.Cleanup(s.stop)
	return s
}

func startCluster(t testing.TB) (members []*server) {
	var all []string
	for _, name := range []string{"one", "two", "three"} {
		s := newServer(t, "http", name)
		members, all = append(members, s), append(all, name+"="+s.peer)
	}
	for _, s := range members {
		s.args = append(s.args, "--initial-cluster", strings.Join(all, ","))
		s.start(t)
	}
	for _, s := range members {
		s.ready(t)
	}
	return members
}

func (s *server) start(t testing.TB) {
	s.cmd = exec.Command(program(t), s.args...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer func() { _ = log.Close() }()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
}

func (s *server) ready(t testing.TB) {
	c := s.client(t)
	require.Eventually(t, func() bool {
		ctx, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		_, err := c.Get(ctx, "ready")
		return err == nil
	}, time.Minute, 50*time.Millisecond, "etcd does not start")
}

func (s *server) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// signal returns from SIGSTOP when no thread of etcd runs any more. One of them gets the signal, and the others run, and answer, until that
// one has had its turn on a processor.
func (s *server) signal(t testing.TB, sig syscall.Signal) {
	require.NoError(t, s.cmd.Process.Signal(sig))
	if sig != syscall.SIGSTOP {
		return
	}
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
	}
	require.NoError(t, err)
}

var quick = record.Policy{LeaseDuration: 3 * time.Second, RenewInterval: time.Second, MaxClockSkew: 200 * time.Millisecond, StealGrace: 100 * time.Millisecond}

func (s *server) session(t testing.TB, change ...func(*Config)) *Session {
	cfg := Config{Endpoints: []string{s.url}, Prefix: "/jvsfs/test", Policy: quick}
	for _, f := range change {
		f(&cfg)
	}
	got, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = got.Close() })
	return got
}

// client is an admin's.
func (s *server) client(t testing.TB) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.url}, TLS: s.over, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func governed(t testing.TB, path string) *lease.Dir {
	d, err := lease.OpenDir(path)
	require.NoError(t, err)
	d.Govern()
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// keeper is one of worktree main, with its own lock directory unless one is given: hosts without a lock that they share.
func keeper(t testing.TB, s *Session, dir *lease.Dir, id string, change ...func(*lease.KeeperConfig)) *lease.Keeper {
	store := dir.Store(lease.WorktreeID(id))
	cfg := lease.KeeperConfig{Store: store, Authority: s.Authority(store), Policy: s.cfg.Policy, Clock: s.cfg.Clock, Tick: 20 * time.Millisecond}
	for _, f := range change {
		f(&cfg)
	}
	k := lease.NewKeeper(cfg)
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func who(name string, pid int) lease.Holder {
	return lease.Holder{Host: name, User: "ann", PID: pid, StartTime: uint64(pid), BootID: name, Scope: "tree", ScopeKey: name}
}

// run runs the keeper until the test ends.
func run(t testing.TB, k *lease.Keeper) {
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); _ = k.Run(ctx) }()
	t.Cleanup(func() { end(); <-over })
}

// quickDir is a directory in memory: what is durable is not tested here.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "jvsfs-etcd-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
