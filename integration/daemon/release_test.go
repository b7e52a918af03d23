package daemon

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A command of a later release asks this daemon for what it does not know: it is told that the
// two are of different releases, and what to do. What both know is served.
func TestACommandOfALaterReleaseIsTold(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{})
	socket := socket(m, m.Mountpoint)
	for request, says := range map[string]string{
		`{"version":1,"op":"defragment","level":3}`:    `unknown operation "defragment"`,
		`{"version":9,"op":"status","colour":"green"}`: `protocol version 9 of "status", this daemon speaks 1`,
	} {
		f := askRaw(t, socket, request).Error
		require.NotNil(t, f, request)
		require.Equal(t, "E_USAGE", f.Class)
		require.Contains(t, f.Message, says)
		require.Contains(t, f.Message, "the command and the daemon are of different releases")
		require.Contains(t, f.Next, "jvsfs mount --replace")
	}
	require.Nil(t, askRaw(t, socket, `{"version":1,"op":"status"}`).Error, "what has not changed is served")
}

// The other way round: a daemon of an earlier release does not know what this command asks,
// and says no more than that. The command says why, and names the way out.
func TestADaemonOfAnEarlierReleaseIsNamed(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{})
	socket := socket(m, m.Mountpoint)
	require.NoError(t, os.Rename(socket, socket+".real"))
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = conn.Write([]byte(`{"version":1,"event":"result","error":{"class":"E_USAGE","message":"bad request: unknown operation \"config\""}}` + "\n"))
			_ = conn.Close()
		}
	}()
	_, said, exit := m.CLI("config", "show", m.Mountpoint)
	require.NoError(t, l.Close())
	<-ended
	require.NoError(t, os.Rename(socket+".real", socket))
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Contains(t, said, "is of another release and does not understand \"config\"")
	require.Contains(t, said, "jvsfs mount --replace")
	require.Contains(t, m.MustCLI("config", "show", m.Mountpoint), "lease_duration")
}

type rawAnswer struct {
	Error *struct{ Class, Message, Next string }
}

// askRaw sends one line to a control socket, as it stands.
func askRaw(t *testing.T, socket, request string) (answer rawAnswer) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(request + "\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err, strings.TrimSpace(line))
	require.NoError(t, json.Unmarshal([]byte(line), &answer))
	return answer
}
