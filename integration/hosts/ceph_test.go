//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// ceph is CephFS: one monitor, one object server that keeps its objects in memory, one metadata server.
type ceph struct{}

func (ceph) title() string { return "CephFS" }
func (ceph) kind() string  { return "fuse.ceph-fuse" }

const cephID = "6a1b1f9c-7b1c-4f6e-9d55-1f0a5a0f7c11"

// start goes without a manager: it counts, and takes longer to start than all others. Nobody has a key: the network is the store's own.
// fuse_disable_pagecache: without it a client shows what others have written only after its caches have aged.
func (ceph) start(c *cluster) {
	s := c.store
	conf := fmt.Sprintf(`[global]
fsid = %[1]s
mon host = [v2:%[2]s:3300,v1:%[2]s:6789]
mon initial members = a
public addr = %[2]s
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data = /mnt/mon
mon data avail crit = 0
mon osd full ratio = .99
osd data = /mnt/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mds data = /mnt/mds
log file = %[3]s/$name.log
admin socket = /run/ceph/$name.$pid.asok
run dir = /run/ceph
crash dir = /run/ceph
[client]
log file = /dev/null
fuse disable pagecache = true
`, cephID, storeIP, s.Dir)
	c.configure("ceph.conf", conf)
	s.Must("mkdir", "-p", "/mnt/mon", "/mnt/osd", "/mnt/mds")
	at := "export CEPH_CONF=" + s.File("ceph.conf") + "; "
	s.Sh(at + "monmaptool --create --addv a [v2:" + storeIP + ":3300,v1:" + storeIP + ":6789] --fsid " + cephID + " /mnt/map && " +
		"ceph-mon --mkfs -i a --monmap /mnt/map && ceph-mon -i a")
	c.cephSays("mon stat", "leader")
	s.Sh(at + "ceph osd new " + cephID + " && ceph-osd -i 0 --mkfs --osd-uuid " + cephID + " && ceph-osd -i 0 && ceph-mds -i a")
	s.Sh(at + "ceph osd pool create meta 8 && ceph osd pool create data 8 && ceph fs new fs meta data")
	c.cephSays("osd stat", "1 up")
	c.cephSays("mds stat", "up:active")
	c.connectAt(s, "/mnt/seen")
}

// ceph runs the store's command line.
func (c *cluster) ceph(line string) (said string, exit int) {
	c.t.Helper()
	return c.store.Run("sh", "-c", "ceph --conf "+c.store.File("ceph.conf")+" --connect-timeout 20 "+line)
}

func (c *cluster) cephSays(line, want string) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, "ceph "+line+" says "+want, func() (bool, string) {
		said, exit := c.ceph(line)
		return exit == 0 && strings.Contains(said, want), said + c.store.Logs()
	})
}

// strike: the metadata server. The object server keeps its objects in memory.
func (ceph) strike(c *cluster) {
	c.killServer("ceph-mds")
	c.store.Sh("export CEPH_CONF=" + c.store.File("ceph.conf") + "; ceph-mds -i a")
	c.cephSays("mds stat", "up:active")
}

// hasty: the least that the metadata servers take is half a minute; the defaults are 60 s and 300 s.
func (ceph) hasty(c *cluster) {
	for _, what := range []string{"session_timeout", "session_autoclose"} {
		said, exit := c.ceph("fs set fs " + what + " 30")
		requireExit(c.t, 0, exit, said)
	}
}

func (ceph) silence() time.Duration { return time.Minute }

func (ceph) client(c *cluster, h *host, dir string) []string {
	return []string{"ceph-fuse", "--conf", c.store.File("ceph.conf"), "--id", "admin", "-r", "/" + c.root, dir}
}

func (ceph) sees(c *cluster) string { return filepath.Join("/mnt/seen", c.root) }

// letIn: another client was never shut out.
func (ceph) letIn(*cluster, *host) {}

// agent: the metadata server may have ended the session, and blocked the client, before anybody could read the record.
func (ceph) agent(c *cluster, at, _ *host, far string) []string {
	return []string{"fence_jvsfs_cephfs", "gone=ok", "conf=" + c.store.File("ceph.conf"), "ceph=" + program(c, at, "ceph", "exec "+far+` ceph "$@"`)}
}
