package agents

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is the program of Debian's redis-tools that is the server under its other name; redis-server itself would start a service.
const server = "/usr/bin/redis-check-rdb"

const juicefs = "fence_jvsfs_juicefs"

// redisServer is a Redis on a socket of its own.
type redisServer struct {
	t      *testing.T
	socket string
}

func newRedis(t *testing.T) *redisServer {
	t.Helper()
	if _, err := os.Stat(server); err != nil {
		if os.Getenv("JVSFS_REQUIRE_FUSE") == "1" {
			t.Fatalf("%v: apt-get install redis-tools", err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "redis-") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	r := &redisServer{t, filepath.Join(dir, "s")}
	cmd := exec.Command(server, "--port", "0", "--unixsocket", r.socket, "--dir", dir, "--save", "", "--appendonly", "no")
	cmd.Args[0] = "redis-server"
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // the exit code is the signal
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("unix", r.socket)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	}, 2*time.Minute, 10*time.Millisecond)
	return r
}

// connection is one of a client.
type connection struct {
	conn net.Conn
	in   *bufio.Reader
}

func (r *redisServer) dial() *connection {
	r.t.Helper()
	conn, err := net.Dial("unix", r.socket)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	return &connection{conn, bufio.NewReader(conn)}
}

// do sends a command, and returns its answer; one of several lines is joined.
func (c *connection) do(words ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if err := c.conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return "", err
	}
	if _, err := c.conn.Write([]byte(b.String())); err != nil {
		return "", err
	}
	return c.answer()
}

func (c *connection) answer() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	n := 0
	switch line[0] {
	case '-':
		return "", fmt.Errorf("%s", line[1:])
	case '$':
		if line == "$-1" {
			return "", nil
		}
		text, err := c.in.ReadString('\n') // no answer that is asked for here has lines
		return strings.TrimSpace(text), err
	case '*':
		_, err = fmt.Sscanf(line, "*%d", &n)
	default:
		return line[1:], nil
	}
	var all []string
	for range n {
		one, err := c.answer()
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, " "), err
}

func (c *connection) must(t *testing.T, words ...string) string {
	t.Helper()
	said, err := c.do(words...)
	require.NoError(t, err, "%q", words)
	return said
}

// juice is a Redis with two hosts of a JuiceFS file system: their users, and their sessions and locks as JuiceFS 1.2 writes them
// (doNewSession in pkg/meta/redis.go, Flock in pkg/meta/redis_lock.go; the owner is 16 hexadecimal digits). A lock that was taken shared is
// in lockf$inode alone.
func juice(t *testing.T) (r *redisServer, admin *connection, base []string) {
	t.Helper()
	r = newRedis(t)
	admin = r.dial()
	for _, x := range []struct{ host, session string }{{"h1", "17"}, {"h2", "18"}} {
		admin.must(t, "ACL", "SETUSER", "juicefs-"+x.host, "on", ">secret-"+x.host, "~*", "&*", "+@all")
		admin.must(t, "ZADD", "allSessions", fmt.Sprint(time.Now().Add(time.Minute).Unix()), x.session)
		admin.must(t, "HSET", "sessionInfos", x.session, `{"Version":"1.2.3","HostName":"`+x.host+`","IPAddrs":["10.0.0.1"],"MountPoint":"/mnt","ProcessID":7}`)
		admin.must(t, "HSET", "lockf5", x.session+"_50FC1452FD6C1FDA", "R") // downgraded: it was exclusive first
		admin.must(t, "SADD", "locked"+x.session, "lockf5")
		admin.must(t, "HSET", "lockf6", x.session+"_50FC1452FD6C1FDB", "R") // taken shared
	}
	return r, admin, []string{"socket=" + r.socket, "user=juicefs-h1", "nodename=h1", "plug=17"}
}

// sorted are the words of an answer, in order.
func sorted(words string) string {
	all := strings.Fields(words)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// client is a client of a host, as JuiceFS is one.
func (r *redisServer) client(host, password string) (*connection, error) {
	c := r.dial()
	_, err := c.do("AUTH", "juicefs-"+host, password)
	return c, err
}

// A client writes, the agent cuts its host off, the next write fails, and so does a new connection. The other host goes on.
func TestRedisTakesNothingOfAHostThatIsOff(t *testing.T) {
	r, admin, base := juice(t)
	h1, err := r.client("h1", "secret-h1")
	require.NoError(t, err)
	h2, err := r.client("h2", "secret-h2")
	require.NoError(t, err)
	h1.must(t, "SET", "c5_0", "before")
	does(t, juicefs, append(base, "action=status")...)

	does(t, juicefs, append(base, "action=off")...)
	_, err = h1.do("SET", "c5_0", "late")
	require.Error(t, err)
	_, err = r.client("h1", "secret-h1")
	require.ErrorContains(t, err, "WRONGPASS")
	require.Equal(t, "before", h2.must(t, "GET", "c5_0"))
	h2.must(t, "SET", "c5_0", "after")

	require.Equal(t, "0", admin.must(t, "ZSCORE", "allSessions", "17"), "expired")
	require.NotEqual(t, "0", admin.must(t, "ZSCORE", "allSessions", "18"))
	require.Equal(t, "18_50FC1452FD6C1FDA", admin.must(t, "HKEYS", "lockf5"), "its locks alone are dropped")
	require.Equal(t, "17_50FC1452FD6C1FDB 18_50FC1452FD6C1FDB", sorted(admin.must(t, "HKEYS", "lockf6")), "nobody has named it")
	does(t, juicefs, append(base, "action=off", "jvsfs_gate=6")...)
	require.Equal(t, "18_50FC1452FD6C1FDB", admin.must(t, "HKEYS", "lockf6"))
	exit, said := run(t, juicefs, append(base, "action=status")...)
	require.Equal(t, 2, exit, said)
	does(t, juicefs, append(base, "action=off")...) // once more
	require.Equal(t, "after", h2.must(t, "GET", "c5_0"))
}

// The host comes back with another password only: what slept through the fence knows the old one.
func TestRedisLetsInOnlyWhoKnowsTheNewPassword(t *testing.T) {
	r, _, base := juice(t)
	does(t, juicefs, append(base, "action=off")...)
	refuses(t, "new_password_file=FILE is missing", juicefs, append(base, "action=on")...)
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("secret-h1\n"), 0o600))
	refuses(t, "that is the old password", juicefs, append(base, "action=on", "new_password_file="+file)...)
	require.NoError(t, os.WriteFile(file, []byte("another\n"), 0o600))
	does(t, juicefs, append(base, "action=on", "new_password_file="+file)...)
	_, err := r.client("h1", "secret-h1")
	require.ErrorContains(t, err, "WRONGPASS")
	again, err := r.client("h1", "another")
	require.NoError(t, err)
	again.must(t, "SET", "c5_0", "again")
}

// What proves nothing is no success.
func TestRedisAgentRefusesWhatProvesNothing(t *testing.T) {
	r, admin, base := juice(t)
	with := func(more ...string) []string { return append(append([]string{}, base...), more...) }
	refuses(t, "has no user juicefs-h9", juicefs, with("user=juicefs-h9")...)
	require.NotContains(t, admin.must(t, "ACL", "USERS"), "juicefs-h9", "and makes none")
	refuses(t, "session 18 is of another host", juicefs, with("plug=18")...)
	refuses(t, "must name the Redis user", juicefs, with("user=")...)
	refuses(t, "must name the Redis user", juicefs, with("user=default")...)
	refuses(t, "must name the Redis user", juicefs, with("user=a b")...)
	refuses(t, "is no inode", juicefs, with("jvsfs_gate=5 lockf7")...)
	refuses(t, "is not one of acl, config", juicefs, with("save=yes")...)
	refuses(t, "is off until Redis starts again", juicefs, with("user=juicefs-h2", "plug=", "save=acl")...) // it has no aclfile
	refuses(t, "is the agent's own", juicefs, with("admin=juicefs-h1")...)
	refuses(t, "", juicefs, with("socket="+r.socket+".none")...)
	refuses(t, "is not one of", juicefs, with("action=reboot")...)
	admin.must(t, "ACL", "SETUSER", "weak", "on", ">weak", "~*", "+@all", "-@admin", "-@dangerous")
	weak := filepath.Join(t.TempDir(), "weak")
	require.NoError(t, os.WriteFile(weak, []byte("weak"), 0o600))
	refuses(t, "", juicefs, with("admin=weak", "password_file="+weak)...)
	h1, err := r.client("h1", "secret-h1")
	require.NoError(t, err, "nothing of this has cut it off")
	h1.must(t, "SET", "c5_0", "still here")
}

// An agent with a user of its own, whose password is in a file.
func TestRedisAgentHasAUserOfItsOwn(t *testing.T) {
	r, admin, base := juice(t)
	admin.must(t, "ACL", "SETUSER", "fence", "on", ">of the fence", "~allSessions", "~sessionInfos", "~locked*", "~lockf*",
		"-@all", "+acl|list", "+acl|setuser", "+client|list", "+client|kill", "+zadd", "+hget", "+smembers", "+hkeys", "+hdel", "+select")
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("of the fence\n"), 0o600))
	does(t, juicefs, append(base, "admin=fence", "password_file="+file)...)
	_, err := r.client("h1", "secret-h1")
	require.Error(t, err)
}
