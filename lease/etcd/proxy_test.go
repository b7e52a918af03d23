package etcd

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a session and its etcd, and can lose what goes through it: nothing answers, nothing is refused.
type proxy struct {
	l    net.Listener
	to   string
	mu   sync.Mutex
	gone bool // nothing goes through
	deaf bool // no answer goes through
	all  []net.Conn
	wg   sync.WaitGroup
}

func newProxy(t testing.TB, srv *server) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{l: l, to: strings.TrimPrefix(srv.url, "http://")}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.all {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.l.Addr().String() }

func (p *proxy) serve() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.all = append(p.all, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(in, out, true) })
		p.wg.Go(func() { p.copy(out, in, false) })
	}
}

func (p *proxy) copy(to, from net.Conn, answers bool) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		gone := p.gone || p.deaf && answers
		p.mu.Unlock()
		if err != nil {
			return
		}
		if gone {
			continue // lost
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) deafen() { p.mu.Lock(); p.deaf = true; p.mu.Unlock() }

func (p *proxy) cut() { p.mu.Lock(); p.gone = true; p.mu.Unlock() }

// heal lets new connections through. Those that have lost bytes end.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.deaf = false, false
	for _, c := range p.all {
		_ = c.Close()
	}
	p.all = nil
}

// requests is how many calls the server has been asked for, by its own count.
func (s *server) requests(t testing.TB) (n float64) {
	got, err := http.Get(s.url + "/metrics")
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	for lines := bufio.NewScanner(io.LimitReader(got.Body, 4<<20)); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "grpc_server_started_total{") {
			continue
		}
		f, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		require.NoError(t, err)
		n += f
	}
	return n
}
