package metrics

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/goroutines"
)

func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	l := bounded(inner, 1)
	var clients []net.Conn
	for range 2 {
		c, err := net.Dial("unix", inner.Addr().String())
		require.NoError(t, err)
		clients = append(clients, c)
	}
	first, err := l.Accept()
	require.NoError(t, err)
	second := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		second <- err
	}()
	goroutines.MustBlock(t, second, "metrics.(*boundedListener).Accept")
	require.NoError(t, first.Close())
	require.Error(t, first.Close(), "a second close gives no second place")
	require.NoError(t, <-second)

	full, err := func() (net.Conn, error) {
		c, err := net.Dial("unix", inner.Addr().String())
		require.NoError(t, err)
		clients = append(clients, c)
		return l.Accept()
	}()
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { _, err := l.Accept(); ended <- err }()
	goroutines.MustBlock(t, ended, "metrics.(*boundedListener).Accept")
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	require.NoError(t, full.Close())
	for _, c := range clients {
		_ = c.Close()
	}
}
