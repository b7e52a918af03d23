//go:build jvsfs_hosts

package hosts

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engine is a distributed file system: its servers, which run on the host that is the store, and its client on each other host.
type engine interface {
	// title is what jvsfs calls it, and kind its type in the mount table.
	title() string
	kind() string
	// start starts the servers. They answer when it returns, and all they keep is in memory.
	start(c *cluster)
	// silence is how long the store keeps the lock of a client that has ended without a word, when it is hasty. Where the client had more
	// than locks, nobody gets on for as long.
	silence() time.Duration
	// hasty makes the servers drop the locks of a silent client as soon as they can be told to.
	hasty(c *cluster)
	// strike kills a server, and starts it again.
	strike(c *cluster)
	// client is the command that mounts the store on a host, at a directory. It may end before, or not at all.
	client(c *cluster, h *host, dir string) []string
	// sees is a directory of the store's host that shows what is stored.
	sees(c *cluster) string
	// agent are the words of the shipped fence agent that cuts a client off, as jvsfs on the host at calls it. far runs on the store's
	// host what is run on at.
	agent(c *cluster, at, victim *host, far string) []string
	// letIn lets a client in again, whose predecessor was cut off and has ended.
	letIn(c *cluster, h *host)
}

// engines are by their names on the command line.
var engines = map[string]engine{"glusterfs": gluster{}, "cephfs": ceph{}, "juicefs": juicefs{}, "moosefs": moosefs{}}

// engineOfRun is the engine that the environment names.
func engineOfRun(t testing.TB) engine {
	t.Helper()
	name := os.Getenv("JVSFS_HOSTS_ENGINE")
	if name == "" {
		name = "glusterfs"
	}
	e := engines[name]
	require.NotNil(t, e, "JVSFS_HOSTS_ENGINE=%s: there is no such engine", name)
	return e
}

// newGluster is newCluster for a story that GlusterFS alone has.
func newGluster(t *testing.T) *cluster {
	t.Helper()
	if _, is := engineOfRun(t).(gluster); !is {
		t.Skip("a story of GlusterFS")
	}
	return newCluster(t)
}
