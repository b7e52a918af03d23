package servicemanager

import (
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A long drain asks for more time as long as it lasts, and not for ever.
func TestDrainingAsksForTime(t *testing.T) {
	for _, c := range []struct {
		lasts       time.Duration
		least, most int
	}{{4 * time.Second, 0, 0}, {11 * time.Second, 2, 2}, {time.Hour, 59, 60}} {
		socket := filepath.Join(t.TempDir(), "notify")
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
		require.NoError(t, err)
		told := make(chan string, 1000)
		go listen(conn, told)
		synctest.Test(t, func(*testing.T) {
			s := &Service{socket: socket, log: zap.NewNop()}
			end := s.Draining("unmounting\n/srv")
			time.Sleep(c.lasts)
			end()
			s.Tell("THE=END")
		})
		require.Equal(t, "STOPPING=1\nSTATUS=unmounting?/srv", <-told)
		asks := 0
		for state := range told {
			if state == "THE=END" {
				break
			}
			require.Equal(t, "EXTEND_TIMEOUT_USEC=15000000", state)
			asks++
		}
		require.NoError(t, conn.Close())
		require.True(t, c.least <= asks && asks <= c.most, "%s: %d", c.lasts, asks)
	}
}

// listen passes datagrams on until the socket is closed.
func listen(conn *net.UnixConn, told chan<- string) {
	defer close(told)
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		told <- string(buf[:n])
	}
}

// Nobody listens, or nobody is there: the daemon goes on.
func TestServiceWithoutManager(t *testing.T) {
	(&Service{}).Draining("x")()
	(&Service{socket: filepath.Join(t.TempDir(), "absent"), log: zap.NewNop()}).Tell("READY=1")
	t.Setenv(notifyEnv, "/nowhere")
	require.Empty(t, Find(false).socket)
	t.Setenv(notifyEnv, "/nowhere")
	require.Equal(t, "/nowhere", Find(true).socket)
	require.Empty(t, Find(true).socket, "taken once")
}
