package daemon

import (
	"bufio"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

func init() {
	operation.Add("crowd", opCrowd)
	operation.Add("disperse", opDisperse)
}

// crowd is what an actor has open of a control socket.
var crowd []net.Conn

// opCrowd opens Len connections to the socket Path and says nothing on any of them. It
// returns what the first of them is told.
func opCrowd(s *operation.Box, c operation.Command) error {
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
	s.Data = <-told
	return nil
}

func opDisperse(*operation.Box, operation.Command) error {
	for _, conn := range crowd {
		_ = conn.Close()
	}
	crowd = nil
	return nil
}

// A user's connections to the control socket are counted: one more than 64 is told so and
// counted, which is that user's trouble and nobody else's.
func TestAUsersConnectionsToTheControlSocketAreBounded(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f"), Extra: []string{"--metrics", "127.0.0.1:0"}})
	user := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000})
	const turnedAway = `jvsfs_control_turned_away_total{reason="limit"}`
	require.Zero(t, scrape(m)[turnedAway])
	r := user.OK(harness.Command{Op: "crowd", Path: socket(m, m.Mountpoint), Len: 65})
	require.Contains(t, string(r.Data), "too many control connections")
	require.EqualValues(t, 1, scrape(m)[turnedAway])
	require.Contains(t, m.MustCLI("status"), "serving", "root is not kept out")
	user.OK(harness.Command{Op: "disperse"})
	harness.EventuallyNoted(t, "the user is let in again", func() (bool, string) {
		exit, said := user.Run("/", "", m.Bin+" explain "+m.At("f"))
		return exit == 0, said
	})
}
