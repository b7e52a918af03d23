//go:build jvsfs_hosts

package etcd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// server is an etcd of one member.
type server struct {
	dir, client, peer string
	cmd               *exec.Cmd
}

func address(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() // it only found a port
	return l.Addr().String()
}

func newServer(t testing.TB) *server {
	s := &server{dir: harness.NewBase(t), client: address(t), peer: address(t)}
	t.Cleanup(s.stop)
	s.start(t)
	return s
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) start(t testing.TB) {
	client, peer := "http://"+s.client, "http://"+s.peer
	log, err := os.Create(filepath.Join(s.dir, "etcd.log"))
	require.NoError(t, err)
	defer log.Close() // the process has its own
	s.cmd = exec.Command("etcd", "--name", "one", "--data-dir", s.data(), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "one="+peer, "--unsafe-no-fsync")
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
	harness.EventuallyNoted(t, "etcd answers", func() (bool, string) {
		out, err := exec.Command("etcdctl", "--endpoints", client, "endpoint", "health").CombinedOutput()
		return err == nil, string(out)
	})
}

func (s *server) stop() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() }

// restore puts a snapshot in the place of everything.
func (s *server) restore(t testing.TB, snapshot string) {
	s.stop()
	require.NoError(t, os.RemoveAll(s.data()))
	s.ctl(t, "snapshot", "restore", snapshot, "--name", "one", "--data-dir", s.data(),
		"--initial-cluster", "one=http://"+s.peer, "--initial-advertise-peer-urls", "http://"+s.peer)
	s.start(t)
}

// ctl is what etcdctl prints.
func (s *server) ctl(t testing.TB, args ...string) string {
	cmd := exec.Command("etcdctl", append([]string{"--endpoints", "http://" + s.client}, args...)...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// way is a host's way to etcd. When it is cut, nothing answers and nothing is refused.
type way struct {
	l    net.Listener
	mu   sync.Mutex
	lost bool
	all  []net.Conn
	wg   sync.WaitGroup
}

func newWay(t testing.TB, to string) *way {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{l: l}
	w.wg.Go(func() { w.serve(to) })
	t.Cleanup(func() {
		_ = l.Close()
		w.set(false)
		w.wg.Wait()
	})
	return w
}

func (w *way) serve(to string) {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		w.mu.Lock()
		w.all = append(w.all, in, out)
		w.mu.Unlock()
		w.wg.Go(func() { w.pass(in, out) })
		w.wg.Go(func() { w.pass(out, in) })
	}
}

func (w *way) pass(to, from net.Conn) {
	defer to.Close() // it is over
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		w.mu.Lock()
		lost := w.lost
		w.mu.Unlock()
		if lost {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// set cuts the way or heals it. What has lost bytes ends when it is healed.
func (w *way) set(lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost = lost; !lost {
		for _, c := range w.all {
			_ = c.Close()
		}
		w.all = nil
	}
}
