package agents

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const cephfs = "fence_jvsfs_cephfs"

// fakeCeph answers as Ceph's command line documents it: client 4711 of host h1 and 4712 of h2. Who is evicted is put on the blocklist.
const fakeCeph = `
echo "$*" >>$calls
session() {
cat <<END
    {
        "id": $1,
        "entity": {
            "name": { "type": "client", "num": $1 },
            "addr": { "type": "v1", "addr": "10.0.0.$3:0", "nonce": 99 }
        },
        "state": "open",
        "inst": "client.$1 v1:10.0.0.$3:0/99",
        "client_metadata": {
            "ceph_version": "ceph version 16.2.15",
            "hostname": "$2",
            "root": "/"
        }
    },
END
}
case "$*" in
*"client ls --format json-pretty")
  [ ! -e $calls.down ] || exit 5
  echo "mds.0: ["
  [ -e $calls.evicted ] || session 4711 h1 1
  session 4712 h2 2
  echo "]" ;;
*"client evict id=4711") [ -e $calls.keeps ] || touch $calls.evicted ;;
*"osd blocklist ls")
  echo "listed 1 entries" >&2
  [ ! -e $calls.evicted ] || [ -e $calls.lax ] || echo "10.0.0.1:0/99 2026-01-01T00:00:00.000000+0000" ;;
*) exit 22 ;;
esac`

func TestCephEvictsTheClient(t *testing.T) {
	ceph, calls := tool(t, fakeCeph)
	base := []string{"plug=4711", "nodename=h1", "ceph=" + ceph, "state=" + t.TempDir(), "id=fence", "conf=/etc/ceph/x.conf"}
	does(t, cephfs, append(base, "action=status")...)
	does(t, cephfs, append(base, "action=off")...)
	require.Contains(t, lines(calls), "--connect-timeout 20 --conf /etc/ceph/x.conf --id fence tell mds.* client evict id=4711")
	exit, said := run(t, cephfs, append(base, "action=status")...)
	require.Equal(t, 2, exit, said)
	does(t, cephfs, append(base, "action=off")...) // once more: it knows whom it evicted
	does(t, cephfs, append(base, "action=on")...)
}

func TestCephAgentRefusesWhatProvesNothing(t *testing.T) {
	for name, x := range map[string]struct {
		flag, why string
		more      []string
	}{
		"not a number":         {"", "must be the number of a client", []string{"plug=h1"}},
		"another host's":       {"", "is of host h2, not of h1", []string{"plug=4712"}},
		"no session":           {"", "no metadata server has a session of client 9", []string{"plug=9"}},
		"no metadata server":   {"down", "cannot be listed", nil},
		"the session stays":    {"keeps", "still has a session", nil},
		"not on the blocklist": {"lax", "is not on the blocklist", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ceph, calls := tool(t, fakeCeph)
			if x.flag != "" {
				touch(t, calls+"."+x.flag)
			}
			base := append([]string{"plug=4711", "nodename=h1", "ceph=" + ceph, "state=" + filepath.Join(t.TempDir(), "s")}, x.more...)
			refuses(t, x.why, cephfs, base...)
		})
	}
	ceph, _ := tool(t, fakeCeph)
	does(t, cephfs, "plug=9", "ceph="+ceph, "gone=ok")
}
