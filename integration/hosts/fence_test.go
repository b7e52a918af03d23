//go:build jvsfs_hosts

package hosts

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// farProgram runs its arguments on the store for another host, as ssh would. It asks the test.
const farProgram = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
[ -t 0 ] || cat >"$$.in"
printf '%s\n' "$@" >"$$.new" && mv "$$.new" "$$.ask" || exit 1
until [ -e "$$.exit" ]; do sleep 0.1; done
cat "$$.out"
exit "$(cat "$$.exit")"
`

// serveFar answers farProgram until the test ends. Who asks may have given up on an answer that does not come: others get theirs.
func (c *cluster) serveFar(dir string) {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	c.t.Cleanup(func() { stop(); <-over })
	go func() {
		defer close(over)
		var answers sync.WaitGroup
		defer answers.Wait()
		for ctx.Err() == nil {
			asked, _ := filepath.Glob(filepath.Join(dir, "*.ask"))
			for _, ask := range asked {
				if text, err := os.ReadFile(ask); err == nil && os.Remove(ask) == nil {
					answers.Go(func() { c.answerFar(ctx, strings.TrimSuffix(ask, ".ask"), string(text)) })
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

func (c *cluster) answerFar(ctx context.Context, name, asked string) {
	exit := "0"
	// Who asks gives up after a minute. What hangs must not keep the end of the test waiting.
	words := append([]string{"timeout", "-k", "2", "50"}, strings.Split(strings.TrimSpace(asked), "\n")...)
	cmd := c.store.Command(ctx, words...)
	cmd.WaitDelay = time.Second
	in, _ := os.ReadFile(name + ".in")
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		exit = "1"
	}
	_ = os.WriteFile(name+".out", out, 0o600)
	_ = os.WriteFile(name+".code", []byte(exit), 0o600)
	_ = os.Rename(name+".code", name+".exit")
}

// program makes a program of a line of shell for a host, beside the agent.
func program(c *cluster, h *host, name, line string) string {
	c.t.Helper()
	path := h.File(filepath.Join("agent", name))
	require.NoError(c.t, os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o755))
	return path
}

// fenced mounts on h with the shipped agent, which cuts off the other host. While the file fails is there, it fails.
func (c *cluster) fenced(h, other *host, p times) (fails string) {
	c.t.Helper()
	fails = c.shipped(h, other)
	c.mount(h, p, "--config", h.File("jvsfs.yaml"))
	return fails
}

// shipped is the configuration jvsfs.yaml of h with the shipped agent.
func (c *cluster) shipped(h, other *host) (fails string) {
	c.t.Helper()
	dir := h.File("agent")
	require.NoError(c.t, os.Mkdir(dir, 0o755))
	far := filepath.Join(dir, "far")
	require.NoError(c.t, os.WriteFile(far, []byte(farProgram), 0o755))
	words := c.engine.agent(c, h, other, far)
	agent, err := os.ReadFile(filepath.Join("../../scripts/fence", words[0]))
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(dir, words[0]), agent, 0o755))
	fails = filepath.Join(dir, "fails")
	words[0] = program(c, h, "agent", "[ ! -e "+fails+" ] || { echo told to fail >&2; exit 1; }; "+filepath.Join(dir, words[0])+"; exit=$?; echo >>"+other.cutMark()+"; exit $exit")
	require.NoError(c.t, os.WriteFile(h.File("jvsfs.yaml"), []byte("fence: [\""+strings.Join(words, `", "`)+"\"]\n"), 0o644))
	c.serveFar(dir)
	return fails
}

// fence-check tells an agent that only says so from the shipped one, on a client of the store that is real.
func TestQuickFenceCheckOnTheStore(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	spare := c.join("h1")
	spare.Most = 6 * time.Minute
	c.shipped(spare, spare)
	dir := storeDir + "/spare"
	spare.Must("mkdir", dir)
	check := func(config string) (said string, exit int) {
		began := time.Now()
		said, exit = spare.Run(c.bin, "fence-check", "--config", config, dir)
		t.Logf("after %v: %s", time.Since(began).Round(time.Second/10), said)
		return said, exit
	}
	lies := spare.File("lies.yaml")
	require.NoError(t, os.WriteFile(lies, []byte("fence: [/bin/true]\n"), 0o644))
	said, exit := check(lies)
	requireExit(t, 1, exit, said)
	require.Contains(t, said, "the client wrote after the agent had said that it is cut off")
	said, exit = check(spare.File("jvsfs.yaml"))
	requireExit(t, 0, exit, said+spare.Logs())
	require.Contains(t, said, "its next write failed: the agent does what it says")
	sizes := c.store.Sh("find " + filepath.Join(c.engine.sees(c), "spare") + " -type f -printf '%s\\n'")
	require.Equal(t, "512\n", sizes, "another client sees the first write, and not the second")
	if _, is := c.engine.(juicefs); is { // its client asks Redis for ever
		spare.abort(storeDir)
	}
}

// The record of a lease names the store's client of its host, by which an agent cuts it off, wherever the records lie.
func TestQuickALeaseRecordNamesTheStoresClient(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h := c.join("h1")
	names := func(records string) string {
		said, exit := c.exec(h, "cat "+records+"/*.claim.*")
		requireExit(t, 0, exit, said+h.Logs())
		found := regexp.MustCompile(`"store_client":"([^"]+)"`).FindStringSubmatch(said)
		require.Len(t, found, 2, "%s", said)
		c.umount(h)
		return found[1]
	}
	c.mount(h, calm)
	beside := names(storeDir + "/control")
	repository := sourceDir + "/repo"
	h.Must("mkdir", "-p", repository+"/.jvs", repository+"/main")
	h.Must(c.bin, "mount", repository+"/main", viewDir, "--log-file", h.File("daemon.log"))
	require.Equal(t, beside, names(repository+"/.jvs/locks"))
	h.Must(c.bin, "mount", repository, viewDir, "--log-file", h.File("daemon.log"))
	said, exit := h.Run(c.bin, "exec", viewDir+"/main", "--", "sh", "-c", "cat "+repository+"/.jvs/locks/main.claim.*2")
	requireExit(t, 0, exit, said+h.Logs())
	require.Contains(t, said, `"store_client":"`+beside+`"`)
	c.umount(h)
}

// A host's client of the store freezes while it writes. Nobody takes its lease while the agent fails. Then the store turns the host away,
// and the lease is taken. When the client thaws, nothing of what it had begun lands.
func TestAFrozenHostIsCutOffAndWritesNothingLate(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	short := times{lease: 8 * time.Second, renew: 2 * time.Second, skew: 2 * time.Second, grace: time.Second}
	c.mount(h1, short)
	fails := c.fenced(h2, h1, short)
	patience := "30s"
	if _, is := c.engine.(ceph); is { // nobody reads the record that a frozen client has until its session is stale
		c.engine.hasty(c)
		patience = "90s"
	}
	require.NoError(t, os.WriteFile(fails, nil, 0o600))

	writing := h1.Start(c.execArgs("while echo of h1; do :; done >>" + viewDir + "/file")...)
	harness.EventuallyNoted(t, "h1 writes", func() (bool, string) {
		text, exit := c.store.Run("cat", filepath.Join(c.engine.sees(c), sourceName, "file"))
		return exit == 0 && strings.Count(text, "of h1") > 3, writing.Said() + h1.Logs()
	})
	h1.freeze()
	frozen := time.Now()
	said, exit := c.exec(h2, "echo of h2 >>"+viewDir+"/file", "--wait", patience)
	requireExit(t, 10, exit, said+h2.Logs())
	require.Contains(t, said, "was not cut off the store")

	require.NoError(t, os.Remove(fails))
	granted := time.Now()
	h2.Most = 6 * time.Minute
	said, exit = c.exec(h2, "date +%s.%N >"+h2.File("taken")+" && echo of h2 >>"+viewDir+"/file", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs())
	t.Logf("frozen for %v; taken %v after the agent could run, written and released after %v", time.Since(frozen).Round(time.Second),
		h2.since(granted, "taken"), time.Since(granted).Round(time.Second/10))
	then := c.stored("file")
	require.True(t, strings.HasSuffix(then, "of h2\n"), "%s", then[max(0, len(then)-200):])
	audit := h2.Must(c.bin, "audit", "tail", "--json", "-n", "1000", viewDir)
	require.Contains(t, audit, `"host_fenced"`)
	require.Contains(t, audit, `"host_fence_failed"`)

	h1.thaw()
	if _, is := c.engine.(juicefs); is { // its client asks Redis for ever
		harness.EventuallyNoted(t, "Redis turns the client of h1 away", func() (bool, string) {
			return strings.Contains(h1.Logs(), "WRONGPASS"), h1.Logs()
		})
		h1.abort(storeDir)
	}
	writing.Wait() // whatever ends it: the refusal of the store, or the loss of the lease
	require.Equal(t, then, c.stored("file"), "nothing of h1 has landed late")
	said, exit = c.exec(h2, "echo of h2 >>"+viewDir+"/file")
	requireExit(t, 0, exit, said+h2.Logs())
	require.Equal(t, then+"of h2\n", c.stored("file"))
	c.umount(h2)
}
