package fenceagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is an agent of its own.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fence_test")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return path
}

var host1 = Target{Node: "h1.example", Client: "4711", Worktree: "main", Token: 7, Gate: 12}

func TestTheAgentIsCalledAsClustersDo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "said")
	path := script(t, `{ cat; echo "args: $*"; echo "env: $(env | cut -d= -f1 | grep -v -e PWD -e SHLVL -e '^_$' | sort | tr '\n' ' ')"; pwd; } >`+out)
	t.Setenv("SECRET", "of the daemon")
	a := Agent{Command: []string{path, "--verbose", "ip=10.0.0.9", "--node={node}", "port={client}", "action=reboot"}}
	require.NoError(t, a.Off(context.Background(), host1))
	said, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, `action=off
nodename=h1.example
plug=4711
jvsfs_client=4711
jvsfs_worktree=main
jvsfs_token=7
jvsfs_gate=12
ip=10.0.0.9
port=4711
action=reboot
args: --verbose --node=h1.example
env: HOME LC_ALL PATH 
/
`, string(said))
	require.NoError(t, Agent{Command: []string{path, "plug=outlet9"}}.On(context.Background(), Target{Node: "h1"}))
	said, err = os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(said), "action=on\nnodename=h1\nplug=outlet9\njvsfs_token=0\n"), "%s", said)
}

func TestAFailureSaysWhatTheAgentSaid(t *testing.T) {
	path := script(t, `echo first; echo "no such node" >&2; echo; exit 3`)
	err := Agent{Command: []string{path}}.Off(context.Background(), host1)
	require.EqualError(t, err, path+" ended with exit code 3: no such node")
	path = script(t, `kill -KILL $$`)
	require.ErrorContains(t, Agent{Command: []string{path}}.Off(context.Background(), host1), "killed")
	path = script(t, `printf 'a\033[2Jb\n'; exit 1`)
	require.ErrorContains(t, Agent{Command: []string{path}}.Off(context.Background(), host1), "exit code 1: a [2Jb")
}

// An agent that hangs is ended, with all that it has started.
func TestAnAgentThatHangsIsEnded(t *testing.T) {
	left := filepath.Join(t.TempDir(), "pid")
	path := script(t, `sleep 1000 & echo $! >`+left+`; echo "still trying"; wait`)
	ctx, cancel := context.WithCancelCause(context.Background())
	pid := make(chan string, 1)
	go func() { // ends it when it has started what hangs
		for {
			if text, err := os.ReadFile(left); err == nil && strings.HasSuffix(string(text), "\n") {
				pid <- strings.TrimSpace(string(text))
				cancel(errors.New("the mount ends"))
				return
			}
			time.Sleep(time.Millisecond) // between two looks
		}
	}()
	require.ErrorContains(t, Agent{Command: []string{path}, Timeout: time.Hour}.Off(ctx, host1), "the mount ends")
	hung := <-pid
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + hung + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond)
	// It may be ended before it has done anything: what is told is the same.
	err := Agent{Command: []string{path}, Timeout: 10 * time.Millisecond}.Off(context.Background(), host1)
	require.ErrorContains(t, err, "did not end within 10ms, and was killed")
}

func TestAnAgentMayWriteAsMuchAsItLikes(t *testing.T) {
	path := script(t, `head -c 3000000 /dev/zero | tr '\0' x; echo; echo done; exit 1`)
	err := Agent{Command: []string{path}}.Off(context.Background(), host1)
	require.EqualError(t, err, path+" ended with exit code 1: done")
	path = script(t, `head -c 3000000 /dev/zero | tr '\0' x; exit 1`)
	err = Agent{Command: []string{path}}.Off(context.Background(), host1)
	require.Less(t, len(err.Error()), 600)
}

// What a record says is passed on only if it can be nothing else than a name.
func TestNamesThatAreNone(t *testing.T) {
	a := Agent{Command: []string{script(t, "exit 0")}}
	for _, x := range []Target{{}, {Node: "-o"}, {Node: "a\nplug=b"}, {Node: "a b"}, {Node: "$(x)"}, {Node: strings.Repeat("x", 254)},
		{Node: "h", Client: "-1"}, {Node: "h", Client: "1\nplug=2"}, {Node: "h", Client: "a;b"}, {Node: "h", Client: strings.Repeat("1", 129)}} {
		require.Error(t, a.Off(context.Background(), x), "%q", x)
	}
	require.NoError(t, a.Off(context.Background(), Target{Node: "h", Client: "CTX_ID:1a-GRAPH_ID:0-PID:7-HOST:h-PC_NAME:v-RECON_NO:-0"}))
	require.NoError(t, Target{Node: strings.Repeat("x", 253), Client: strings.Repeat("1", 128)}.check())
}

// Only what nobody else can change is run.
func TestWhichProgramsAreTrusted(t *testing.T) {
	good := script(t, "exit 0")
	require.NoError(t, Agent{Command: []string{good}}.Check())
	require.ErrorContains(t, Agent{}.Check(), "absolute path")
	require.ErrorContains(t, Agent{Command: []string{"true"}}.Check(), "absolute path")
	require.Error(t, Agent{Command: []string{good + ".gone"}}.Check())
	require.ErrorContains(t, Agent{Command: []string{filepath.Dir(good)}}.Check(), "is not a program")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(good, link))
	require.NoError(t, Agent{Command: []string{link}}.Check())
	for _, mode := range []os.FileMode{0o775, 0o757} {
		require.NoError(t, os.Chmod(good, mode))
		require.ErrorContains(t, Agent{Command: []string{good}}.Check(), "others than root may write")
		require.ErrorContains(t, Agent{Command: []string{link}}.Check(), "others than root may write")
	}
	require.NoError(t, os.Chmod(good, 0o644))
	require.ErrorContains(t, Agent{Command: []string{good}}.Check(), "is not a program")
	require.NoError(t, os.Chmod(good, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(good), 0o777))
	require.ErrorContains(t, Agent{Command: []string{good}}.Check(), "others than root may write "+filepath.Dir(good))
	require.NoError(t, os.Chmod(filepath.Dir(good), 0o755))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(good, 12345, 0))
		require.ErrorContains(t, Agent{Command: []string{good}}.Check(), "does not belong to root")
	}
}

// ".." after a link is the parent of what that leads to: of that file it is judged, and not of one beside the link.
func TestTrustFollowsLinksBeforeDotDot(t *testing.T) {
	good := script(t, "exit 0")
	theirs := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.MkdirAll(filepath.Join(theirs, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(theirs, filepath.Base(good)), nil, 0o777))
	require.NoError(t, os.Chmod(filepath.Join(theirs, filepath.Base(good)), 0o777))
	require.NoError(t, os.Symlink(filepath.Join(theirs, "d"), filepath.Join(filepath.Dir(good), "link")))
	require.NoError(t, Trusted(good))
	path := filepath.Dir(good) + "/link/../" + filepath.Base(good)
	require.ErrorContains(t, Trusted(path), "others than root may write "+theirs)
	t.Chdir(filepath.Dir(good))
	require.ErrorContains(t, Trusted("link/../"+filepath.Base(good)), "others than root may write "+theirs)
	require.NoError(t, Trusted("./"+filepath.Base(good)))
}

// Of a chain of links each one counts: who can change one of them chooses the program.
func TestEachLinkToAProgramIsTrusted(t *testing.T) {
	dir, good := t.TempDir(), script(t, "exit 0")
	between, first, dirs := filepath.Join(dir, "between"), filepath.Join(dir, "first"), filepath.Join(dir, "dirs")
	require.NoError(t, os.Mkdir(between, 0o755))
	require.NoError(t, os.Symlink(good, filepath.Join(between, "second")))
	require.NoError(t, os.Symlink("between/../between/second", first))
	require.NoError(t, os.Symlink(filepath.Dir(good), filepath.Join(between, "dir")))
	require.NoError(t, os.Symlink("between/dir", dirs))
	through := filepath.Join(dirs, filepath.Base(good))
	for _, path := range []string{first, through} {
		require.NoError(t, Agent{Command: []string{path}}.Check())
	}
	require.NoError(t, os.Chmod(between, 0o777))
	for _, path := range []string{first, through} {
		require.ErrorContains(t, Agent{Command: []string{path}}.Check(), "others than root may write "+between)
	}
	require.NoError(t, os.Chmod(between, 0o777|os.ModeSticky)) // as /tmp: a link there counts by its owner
	require.NoError(t, Agent{Command: []string{first}}.Check())
	if os.Geteuid() == 0 {
		require.NoError(t, os.Lchown(filepath.Join(between, "second"), 12345, 0))
		require.ErrorContains(t, Agent{Command: []string{first}}.Check(), "second does not belong to root")
	}
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	require.Error(t, Trusted(loop))
}

func TestClientsOfStores(t *testing.T) {
	require.Equal(t, "17", juiceSession(`{"Meta":{"Sid":17,"Retries":10},"Format":{"Name":"x"}}`))
	require.Empty(t, juiceSession(`{"Meta":{}}`))
	require.Empty(t, juiceSession(`no JSON`))
	require.Equal(t, "258", mooseSession("\x7f\x00\x00\x01\x8eU\x00\x00\x01\x02\x00\x03\x00\xea"), "as MooseFS 3.0.117 has it")
	require.Empty(t, mooseSession("\x7f\x00\x00\x01\x8eU\x00\x00\x00\x00\x00\x03\x00\xea"), "not registered")
	require.Empty(t, mooseSession("a file of anybody's"))
	d, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, os.WriteFile(filepath.Join(d.Name(), "main.gate"), nil, 0o600))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(d.Name(), "main.gate"), &st))
	require.Equal(t, st.Ino, LockedFile(int(d.Fd()), "fuse.juicefs", "main.gate"))
	require.Zero(t, LockedFile(int(d.Fd()), "fuse.juicefs", "other.gate"))
	require.Zero(t, LockedFile(int(d.Fd()), "ceph", "main.gate"), "nobody asks there")
	require.NoError(t, os.WriteFile(filepath.Join(d.Name(), ".config"), []byte(`{"Meta":{"Sid":17}}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(d.Name(), ".masterinfo"), make([]byte, 14), 0o600))
	for _, kind := range []string{"ext4", "ceph", "fuse.juicefs", "fuse.glusterfs", "fuse", "fuse.mfs"} {
		require.Empty(t, ClientOf(int(d.Fd()), kind), "a file of anybody's, not in the root: %s", kind)
	}
}

// An agent has no descriptor of the daemon, whoever opened it: what it leaves running would keep it.
func TestAnAgentInheritsNoDescriptor(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC, as it comes from whoever started the daemon
	require.NoError(t, err)
	defer unix.Close(fd)
	path := script(t, fmt.Sprintf("[ ! -e /proc/self/fd/%d ] || { echo inherited; exit 1; }", fd))
	require.NoError(t, Agent{Command: []string{path}}.Off(context.Background(), host1))
}
