//go:build jvsfs_hosts

package hosts

import (
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// moosefs is MooseFS: a master, and a chunk server.
type moosefs struct{}

func (moosefs) title() string { return "MooseFS" }
func (moosefs) kind() string  { return "fuse" }

// start: every host has an export line of its own, as the agent wants it. CHANGELOG_SAVE_MODE 1 spares the master a process that outlives it.
func (moosefs) start(c *cluster) {
	s := c.store
	s.Must("mkdir", "-p", "/mnt/master", "/mnt/chunks", "/mnt/chunkserver")
	s.Sh("printf 'MFSM NEW' >/mnt/master/metadata.mfs")
	common := "WORKING_USER = root\nWORKING_GROUP = root\nNICE_LEVEL = 0\n"
	c.configure("mfsmaster.cfg", common+"DATA_PATH = /mnt/master\nCHANGELOG_SAVE_MODE = 1\nEXPORTS_FILENAME = "+s.File("mfsexports.cfg")+
		"\nTOPOLOGY_FILENAME = "+s.File("mfstopology.cfg")+"\n")
	exports := storeIP + " / rw,alldirs,admin,maproot=0:0\n127.0.0.1 / rw,alldirs,admin,maproot=0:0\n"
	for _, ip := range []string{"10.77.1.2", "10.77.2.2", "10.77.3.2", "10.77.4.2"} {
		exports += ip + " / rw,alldirs,admin,maproot=0:0\n"
	}
	c.configure("mfsexports.cfg", exports)
	c.configure("mfstopology.cfg", "")
	c.configure("mfschunkserver.cfg", common+"DATA_PATH = /mnt/chunkserver\nMASTER_HOST = "+storeIP+"\nHDD_CONF_FILENAME = "+s.File("mfshdd.cfg")+
		"\nHDD_LEAVE_SPACE_DEFAULT = 1MiB\nHDD_FSYNC_BEFORE_CLOSE = 0\n")
	c.configure("mfshdd.cfg", "/mnt/chunks\n")
	c.mooseServer("mfsmaster")
	c.mooseServer("mfschunkserver")
	c.connectAt(s, "/mnt/seen")
	s.Must("mfssetgoal", "-r", "1", "/mnt/seen")
	s.Must("chmod", "755", "/mnt/seen") // everybody may write there at first, which jvsfs takes no records from
}

// mooseServer starts a server.
func (c *cluster) mooseServer(name string) {
	c.t.Helper()
	s := c.store
	harness.EventuallyNoted(c.t, name+" is up", func() (bool, string) {
		said, exit := s.Run("sh", "-c", name+" -c "+s.File(name+".cfg")+" start >"+s.File(name+".log")+" 2>&1 || { cat "+s.File(name+".log")+"; exit 1; }")
		return exit == 0, said
	})
	if name == "mfsmaster" {
		return
	}
	harness.EventuallyNoted(c.t, "the chunk server is known", func() (bool, string) {
		said, _ := s.Run("mfscli", "-H", storeIP, "-p", "-SCS")
		return strings.Contains(said, storeIP), said
	})
}

// strike: the chunk server.
func (moosefs) strike(c *cluster) {
	c.killServer("mfschunkserver")
	c.mooseServer("mfschunkserver")
}

// killServer kills the server whose command line begins so. It has ended when this returns.
func (c *cluster) killServer(name string) {
	c.t.Helper()
	pids := c.store.Processes(`" ` + name + ` "*`)
	require.NotEmpty(c.t, pids, "%s", name)
	c.store.Signal("KILL", pids)
	harness.Eventually(c.t, name+" has ended", func() bool { return len(c.store.Processes(`" `+name+` "*`)) == 0 })
}

// configure writes a file for the servers.
func (c *cluster) configure(name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(c.store.File(name), []byte(text), 0o644))
}

// hasty: the least that the master takes is a minute; the default is a day.
func (moosefs) hasty(c *cluster) {
	file := c.store.File("mfsmaster.cfg")
	text, err := os.ReadFile(file)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(file, append(text, "SESSION_SUSTAIN_TIME = 60\n"...), 0o644))
	c.store.Must("mfsmaster", "-c", file, "reload")
}

func (moosefs) silence() time.Duration { return 2 * time.Minute }

func (moosefs) client(c *cluster, h *host, dir string) []string {
	command := []string{"mfsmount", "-H", storeIP, dir, "-o", "mfsnice=0"}
	if h == c.store { // it is to see what is there now
		command[len(command)-1] += ",mfsattrcacheto=0,mfscachemode=DIRECT"
	}
	return command
}

func (moosefs) sees(*cluster) string { return "/mnt/seen" }

func (moosefs) agent(c *cluster, _, victim *host, far string) []string {
	return []string{"fence_jvsfs_moosefs", "address=" + victim.IP, "master=" + storeIP, "exports=" + c.store.File("mfsexports.cfg"),
		"config=" + c.store.File("mfsmaster.cfg"), "via=" + far}
}

func (moosefs) letIn(c *cluster, h *host) { c.agentOn(h, "client_gone=yes") }
