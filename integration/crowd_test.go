package integration

import (
	"bufio"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() { actorOps["crowd"], actorOps["disperse"] = opCrowd, opDisperse }

// crowd is what an actor has open of a control socket.
var crowd []net.Conn

// opCrowd opens Len connections to the socket Path and says nothing on any of them. It
// returns what the first of them is told.
func opCrowd(s *stage, c command) error {
	told := make(chan []byte, c.Len)
	for range c.Len {
		conn, err := net.Dial("unix", c.Path)
		if err != nil {
			return err
		}
		crowd = append(crowd, conn)
		go func() {
			line, _ := bufio.NewReader(conn).ReadBytes('\n') // nothing, when it was closed
			told <- line
		}()
	}
	s.data = <-told
	return nil
}

func opDisperse(*stage, command) error {
	for _, conn := range crowd {
		_ = conn.Close()
	}
	crowd = nil
	return nil
}

// A user's connections to the control socket are counted: one more than 64 is told so and
// counted, which is that user's trouble and nobody else's.
func TestCrowdAtTheControlSocket(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f"), extra: []string{"--metrics", "127.0.0.1:0"}})
	user := startActorAs(t, "user", identity{uid: 1000, gid: 1000})
	const turnedAway = `jvsfs_control_turned_away_total{reason="limit"}`
	require.Zero(t, m.scrape()[turnedAway])
	r := user.ok(command{Op: "crowd", Path: m.socket(m.Mountpoint), Len: 65})
	require.Contains(t, string(r.Data), "too many control connections")
	require.EqualValues(t, 1, m.scrape()[turnedAway])
	require.Contains(t, m.cliOK("status"), "serving", "root is not kept out")
	user.ok(command{Op: "disperse"})
	eventuallyNoted(t, "the user is let in again", func() (bool, string) {
		exit, said := user.run("/", "", m.bin+" explain "+m.At("f"))
		return exit == 0, said
	})
}
