//go:build jvsfs_hosts

package hosts

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// juicefs is JuiceFS: its metadata in a Redis, its objects in a directory that all hosts see. JUICEFS names its program.
type juicefs struct{}

func (juicefs) title() string { return "JuiceFS" }
func (juicefs) kind() string  { return "fuse.juicefs" }

// start: each host has a Redis user of its own, as the agent wants it.
func (juicefs) start(c *cluster) {
	s := c.store
	require.NotEmpty(c.t, os.Getenv("JUICEFS"), "JUICEFS must name the program of JuiceFS")
	c.redis()
	s.Must(os.Getenv("JUICEFS"), "format", "--storage", "file", "--bucket", s.File("objects")+"/", "--trash-days", "0", juiceURL(s), "work")
	c.connectAt(s, "/mnt/seen")
	s.Must("chmod", "755", "/mnt/seen") // as on MooseFS
}

// redis starts the Redis, which keeps what it has acknowledged when it is killed.
func (c *cluster) redis() {
	c.t.Helper()
	s := c.store
	users := s.File("users.acl")
	_, err := os.Stat(users)
	first := os.IsNotExist(err)
	if first {
		c.configure("users.acl", "")
	}
	s.Must("redis-server", "--bind", storeIP, "--protected-mode", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--dir", "/mnt", "--logfile", s.File("redis.log"), "--aclfile", users, "--daemonize", "yes")
	harness.EventuallyNoted(c.t, "Redis answers", func() (bool, string) {
		said, exit := s.Run("redis-cli", "-h", storeIP, "PING")
		return exit == 0 && strings.Contains(said, "PONG"), said
	})
	if !first { // whom an agent has switched off stays so
		return
	}
	for _, name := range []string{"store", "h1", "h2"} {
		s.Must("redis-cli", "-h", storeIP, "ACL", "SETUSER", "juicefs-"+name, "on", ">"+name, "~*", "&*", "+@all", "-acl")
	}
	s.Must("redis-cli", "-h", storeIP, "ACL", "SAVE")
}

// strike: the Redis.
func (juicefs) strike(c *cluster) {
	c.killServer("redis-server")
	c.redis()
}

func juiceURL(h *host) string {
	password, err := os.ReadFile(h.File("password"))
	if err != nil {
		password = []byte(h.Name)
	}
	return "redis://juicefs-" + h.Name + ":" + string(password) + "@" + storeIP + ":6379/1"
}

// hasty: a client that misses its heartbeat for five of them is cleaned away, and its locks with it.
func (juicefs) hasty(*cluster) {}

func (juicefs) silence() time.Duration { return 10 * time.Second }

// client: the program cuts the end of its command line off when it hides the password.
func (juicefs) client(_ *cluster, h *host, dir string) []string {
	return []string{"sh", "-c", ownTmp, "sh", filepath.Dir(h.Dir), os.Getenv("JUICEFS"), "mount", juiceURL(h), dir, "--background", "--no-usage-report", "--heartbeat", heartbeat(), "--attr-cache", "0", "--entry-cache", "0",
		"--dir-entry-cache", "0", "--cache-dir", "memory", "--cache-size", "64", "--log", h.File("client.log")}
}

// heartbeat is in seconds; the default of JuiceFS is 12. JVSFS_JUICEFS_HEARTBEAT measures another one.
func heartbeat() string { return cmp.Or(os.Getenv("JVSFS_JUICEFS_HEARTBEAT"), "2") }

func (juicefs) sees(*cluster) string { return "/mnt/seen" }

func (juicefs) agent(_ *cluster, _, victim *host, _ string) []string {
	return []string{"fence_jvsfs_juicefs", "host=" + storeIP, "db=1", "user=juicefs-" + victim.Name, "save=acl"}
}

// letIn: the old password never works again.
func (juicefs) letIn(c *cluster, h *host) {
	c.t.Helper()
	file := h.File("password")
	require.NoError(c.t, os.WriteFile(file, []byte(fmt.Sprintf("%s-%d", h.Name, time.Now().UnixNano())), 0o600))
	c.agentOn(h, "new_password_file="+file)
}
