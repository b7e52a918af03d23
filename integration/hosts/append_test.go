//go:build jvsfs_hosts

package hosts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two hosts append to one file, one after the other. The client of the store on each knows the file's size from before the other's turn.
func TestQuickAppendsOfTwoHostsOverwriteNothing(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, calm)
	c.mount(h2, calm)
	want := ""
	for range 4 {
		for _, turn := range [][2]*host{{h1, h2}, {h2, h1}} {
			turn[1].Run("stat", viewDir+"/f")
			line := strings.Repeat(turn[0].Name+"\n", 10)
			said, exit := c.exec(turn[0], "for i in 1 2 3 4 5 6 7 8 9 10; do echo "+turn[0].Name+"; done >>"+viewDir+"/f", "--wait", "5m")
			requireExit(t, 0, exit, said+turn[0].Logs())
			want += line
			require.Equal(t, want, c.stored("f"))
		}
	}
	c.umount(h1)
	c.umount(h2)
}
