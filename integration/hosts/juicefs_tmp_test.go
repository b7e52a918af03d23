//go:build jvsfs_hosts

package hosts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownTmp gives a host a /tmp of its own, with the directory of the run and the program $2 in it if they are below /tmp. A client of JuiceFS gets
// its FUSE connection from the process that looks after it, at /tmp/fuse_fd_comm.PID. Hosts have the same PIDs: beside each other
// in one /tmp one would serve the mount of another.
const ownTmp = `set -e
if ! [ -e /mnt/tmp ]; then
  mkdir -m 1777 /mnt/tmp
  for keep in "$1" "$2"; do
    case $keep in /tmp/*) ;; *) continue ;; esac
    mkdir -p "/mnt${keep%/*}"
    if [ -d "$keep" ]; then mkdir -p "/mnt$keep"; else : >"/mnt$keep"; fi
    mount --bind "$keep" "/mnt$keep"
  done
  mount --rbind /mnt/tmp /tmp
fi
shift
exec "$@"`

// Clients that start side by side on several hosts do not get each other's connection.
func TestQuickJuiceFSClientsGetNoOthersConnection(t *testing.T) {
	t.Parallel() // it waits most of the time
	if _, is := engineOfRun(t).(juicefs); !is {
		t.Skip("a story of JuiceFS")
	}
	c := newCluster(t)
	met := map[string]string{}
	for _, h := range []*host{c.store, c.join("h1"), c.join("h2")} {
		at := h.Sh("stat -c %d:%i /tmp/fuse_fd_comm.*")
		require.Equal(t, 1, strings.Count(at, "\n"), "%s sees where others meet: %s", h.Name, at)
		require.Empty(t, met[at], "%s meets there, too", h.Name)
		met[at] = h.Name
	}
}
