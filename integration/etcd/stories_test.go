//go:build jvsfs_hosts

package etcd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// Two hosts and one worktree: who has the lease writes, who has not is refused, waits, and is told by whom.
func TestQuickOnlyTheHolderOfTwoHostsWrites(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	h1.Must(c.mountArgs(h1, "--metrics", "unix:"+h1.File("metrics.sock"))...)
	c.mount(h2)
	said := h1.Must(c.bin, "status")
	require.Contains(t, said, "leases in etcd")
	require.Contains(t, said, "tier C")
	t.Run("exec", func(t *testing.T) {
		said, exit := c.exec(h1, "echo one >"+viewDir+"/file && echo token $JVSFS_TOKEN")
		requireExit(t, 0, exit, said+h1.Logs())
		require.Contains(t, said, "token 1")
		said, exit = c.exec(h2, "echo two >>"+viewDir+"/file && echo token $JVSFS_TOKEN")
		requireExit(t, 0, exit, said+h2.Logs())
		require.Contains(t, said, "token 2")
		require.Equal(t, "one\ntwo\n", c.stored("file"))
	})
	t.Run("by writing", func(t *testing.T) {
		h1.Sh("echo three >>" + viewDir + "/file")
		harness.EventuallyNoted(t, "h2 writes when the writer of h1 has ended", func() (bool, string) {
			said, exit := h2.Run("sh", "-c", "echo four >>"+viewDir+"/file")
			return exit == 0, said
		})
		require.Contains(t, c.stored("file"), "three\nfour\n")
	})
	t.Run("refused", func(t *testing.T) {
		held := c.hold(h1)
		said, exit := h2.Run("sh", "-c", "echo intruder >>"+viewDir+"/file")
		require.NotZero(t, exit)
		require.Contains(t, said, "Read-only file system")
		said, exit = c.exec(h2, "echo intruder >>"+viewDir+"/file")
		requireExit(t, 10, exit, said)
		require.Contains(t, said, "h1:", "it names the holder")
		said, exit = h2.Run(c.bin, "explain", "--json", "--pid", "1", viewDir+"/file")
		requireExit(t, 10, exit, said)
		var x harness.Explanation
		require.NoError(t, json.Unmarshal([]byte(said), &x), said)
		require.Contains(t, x.Holder.ID, "h1:")
		said, exit = h2.Run(c.bin, "lock", "steal", "--yes", viewDir)
		require.NotZero(t, exit, said)
		held.release(t)
		require.NotContains(t, c.stored("file"), "intruder")
	})
	t.Run("wait", func(t *testing.T) {
		held := c.hold(h1)
		waiting := h2.Start(c.execArgs("echo waited >>"+viewDir+"/file", "--wait", "5m")...)
		harness.EventuallyNoted(t, "it waits", func() (bool, string) { return waiting.Said() != "", waiting.Said() })
		held.release(t)
		exit, said := waiting.Wait()
		requireExit(t, 0, exit, said)
		require.Contains(t, c.stored("file"), "waited")
	})
	t.Run("lock", func(t *testing.T) {
		line := "sleep 300 >/dev/null 2>&1 & p=$!; B lock acquire --pid $p V && B lock renew --pid $p V && B lock status V && B lock release --pid $p V; e=$?; kill $p; exit $e"
		said := h1.Sh(strings.NewReplacer("B", c.bin, "V", viewDir).Replace(line))
		require.Contains(t, said, "acquired")
		require.Contains(t, said, "h1:")
		said, exit := c.exec(h2, "true")
		requireExit(t, 0, exit, said)
	})
	t.Run("metrics", func(t *testing.T) {
		said := h1.Must("curl", "--silent", "--show-error", "--unix-socket", h1.File("metrics.sock"), "http://localhost/metrics")
		for _, want := range []string{`jvsfs_etcd_requests_total{request="claim",result="ok"} [1-9]`, `jvsfs_etcd_requests_total{request="look",result="failed"} 0`,
			`jvsfs_etcd_request_duration_seconds_count{request="write"} [1-9]`, `jvsfs_etcd_leases_total 1`, `jvsfs_etcd_restores_total 0`, `jvsfs_etcd_watching 1`,
			`jvsfs_etcd_open_claims 0`, `jvsfs_etcd_keepalive_age_seconds (0\.|[1-9])`} {
			require.Regexp(t, `(?m)^`+strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want), said)
		}
	})
	t.Run("the audit is in etcd, too", func(t *testing.T) {
		said := c.audited()
		require.Contains(t, said, "work/00000000000000000001/acquire")
		require.Contains(t, said, "work/00000000000000000001/release")
	})
	c.umount(h1)
	c.umount(h2)
}

func TestQuickAHandoverGoesFromHostToHost(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	c.mount(h2)
	c.hold(h1)
	offer := h1.Start(c.bin, "lock", "handover", viewDir, "--to-host", "h2", "--wait", "5m")
	said, exit := c.exec(h2, "echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs()+h1.Logs())
	require.Contains(t, said, "token 2")
	exit, said = offer.Wait()
	requireExit(t, 0, exit, said)
	c.umount(h2)
	c.umount(h1)
}

// A host that loses its way to etcd closes its fence at its deadline, and only then another gets the lease. When the way is back it is
// a host like any.
func TestQuickAHolderCutFromEtcdStopsBeforeTheNextStarts(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	c.mount(h2)
	writing := h1.Start(c.execArgs("i=0; while i=$((i+1)); do printf 'h1 %d\n' $i >>" + viewDir + "/log || exit 7; sleep 0.02; done")...)
	harness.EventuallyNoted(t, "h1 writes", func() (bool, string) {
		text, err := os.ReadFile(filepath.Join(c.path("work"), "log"))
		return err == nil && strings.Count(string(text), "h1") > 3, writing.Said() + h1.Logs()
	})
	c.ways[h1].set(true)
	began := time.Now()
	said, exit := c.exec(h2, "for i in 1 2 3 4 5; do echo h2 >>"+viewDir+"/log; sleep 0.2; done; echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs()+h1.Logs())
	require.Contains(t, said, "token 2")
	t.Logf("the successor was done %v after the cut", time.Since(began).Round(100*time.Millisecond))
	exit, said = writing.Wait()
	require.NotZero(t, exit, said)
	text := c.stored("log")
	require.Equal(t, 5, strings.Count(text, "h2"))
	require.NotContains(t, text[strings.Index(text, "h2"):], "h1", "a write of the old holder came after one of its successor")
	c.ways[h1].set(false)
	said, exit = c.exec(h1, "echo back >>"+viewDir+"/log; echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h1.Logs())
	require.Contains(t, said, "token 3")
	require.Contains(t, c.audited(), "work/00000000000000000002/steal")
	c.umount(h1)
	c.umount(h2)
}

// daemon is the pid of the host's daemon, as the host sees it.
func (c *cluster) daemon(h *machine.Host) int {
	c.t.Helper()
	var all struct {
		Mounts []struct {
			PID        int    `json:"pid"`
			Mountpoint string `json:"mountpoint"`
		} `json:"mounts"`
	}
	said := h.Must(c.bin, "status", "--json")
	require.NoError(c.t, json.Unmarshal([]byte(said), &all), said)
	for _, m := range all.Mounts { // others of the machine may be in view
		if m.Mountpoint == viewDir {
			return m.PID
		}
	}
	c.t.Fatal(said)
	return 0
}

// A daemon that is killed is recovered within its lease: the holder goes on under its token.
func TestQuickAKilledDaemonIsRecovered(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1", calm), c.join("h2", calm) // a recovery must come within the lease, and a busy machine takes its time
	c.mount(h1)
	c.mount(h2)
	held := c.hold(h1)
	h1.Must("kill", "-KILL", strconv.Itoa(c.daemon(h1)))
	h1.Must(c.mountArgs(h1, "--recover")...)
	said := h1.Must(c.bin, "lock", "status", viewDir)
	require.Regexp(t, `token +1\n`, said)
	said, exit := c.exec(h2, "true")
	requireExit(t, 10, exit, said)
	held.release(t)
	said, exit = c.exec(h2, "echo token $JVSFS_TOKEN")
	requireExit(t, 0, exit, said)
	require.Contains(t, said, "token 2")
	c.umount(h1)
	c.umount(h2)
}

// A host that fails is silent: its lease runs out in etcd, and the next one gets it.
func TestQuickALeaseOfASilentHostIsTakenOver(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	c.mount(h2)
	c.hold(h1)
	require.NoError(t, unix.Kill(h1.Init, unix.SIGKILL))
	said, exit := c.exec(h2, "echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs())
	require.Contains(t, said, "token 2")
	require.Contains(t, h2.Must(c.bin, "audit", "tail", viewDir), "unclean")
	c.umount(h2)
}

// With a fence agent the silent host is cut off the store before its lease is taken over.
func TestQuickTheFenceAgentRunsBeforeTheTakeover(t *testing.T) {
	c := newCluster(t)
	agent := c.path("agent")
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\ncat >>"+c.path("asked")+"\n"), 0o755))
	h1, h2 := c.join("h1"), c.join("h2", "fence: ["+agent+"]")
	for h, tier := range map[*machine.Host]string{h1: "tier C", h2: "tier B"} {
		require.Contains(t, h.Must(c.mountArgs(h)...), tier)
		require.Contains(t, h.Must(c.bin, "status"), tier)
		said, _ := h.Run(c.bin, "doctor", viewDir) // it may find other things here
		require.Contains(t, said, tier)
	}
	c.hold(h1)
	require.NoError(t, unix.Kill(h1.Init, unix.SIGKILL))
	said, exit := c.exec(h2, "echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs())
	require.Contains(t, said, "token 2")
	asked, err := os.ReadFile(c.path("asked"))
	require.NoError(t, err)
	require.Contains(t, string(asked), "h1")
	said = h2.Must(c.bin, "audit", "tail", viewDir)
	require.Contains(t, said, "fenced")
	require.NotContains(t, said, "unclean")
	c.umount(h2)
}

// An etcd that was restored has forgotten tokens. Held leases end, and nobody gets one before an admin has set the floor.
func TestQuickARestoredEtcdGrantsNothingBeforeTheFloorIsSet(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	c.mount(h2)
	said, exit := c.exec(h1, "true")
	requireExit(t, 0, exit, said)
	snapshot := filepath.Join(c.etcd.dir, "snapshot")
	c.etcd.ctl(t, "snapshot", "save", snapshot)
	said, exit = c.exec(h2, "true")
	requireExit(t, 0, exit, said)
	held := c.hold(h1)
	c.etcd.restore(t, snapshot)
	exit, said = held.j.Wait()
	require.NotZero(t, exit, said)
	harness.EventuallyNoted(t, "nobody is granted anything, and it is said why", func() (bool, string) {
		said, exit = c.exec(h2, "true")
		return exit == 15 && strings.Contains(said, "restored from an older snapshot"), said
	})
	require.Contains(t, said, "etcdctl put /jvsfs/builds/floor/work 3")
	said, exit = h2.Run("sh", "-c", "echo intruder >"+viewDir+"/file")
	require.NotZero(t, exit, said)
	c.etcd.ctl(t, "put", "/jvsfs/builds/floor/work", "3")
	harness.EventuallyNoted(t, "the next token is above the floor", func() (bool, string) {
		said, exit = c.exec(h2, "echo token $JVSFS_TOKEN")
		return exit == 0, said
	})
	require.Contains(t, said, "token 4")
	c.umount(h1)
	c.umount(h2)
}

// Two daemons cannot have one lease where no kernel keeps a taker waiting for both.
func TestQuickAReplacementIsRefusedWhileALeaseIsHeld(t *testing.T) {
	c := newCluster(t)
	h := c.join("h1")
	c.mount(h)
	held := c.hold(h)
	said, exit := h.Run(c.mountArgs(h, "--replace")...)
	require.NotZero(t, exit, said)
	t.Log(said)
	harness.EventuallyNoted(t, "the daemon goes on", func() (bool, string) {
		said, exit := c.exec(h, "true")
		return exit == 10, said // and not that it is being replaced
	})
	held.release(t)
	h.Must(c.mountArgs(h, "--replace")...)
	said, exit = c.exec(h, "echo token $JVSFS_TOKEN")
	requireExit(t, 0, exit, said+h.Logs())
	require.Contains(t, said, "token 2")
	c.umount(h)
}

// While etcd does not answer, who asks is told what is known, and at once; the holder goes on until its deadline.
func TestQuickCommandsAnswerWhileEtcdDoesNot(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	c.mount(h2)
	held := c.hold(h1)
	said, exit := h2.Run(c.bin, "explain", "--pid", "1", viewDir) // so that it has seen the holder
	requireExit(t, 10, exit, said)
	c.ways[h1].set(true)
	c.ways[h2].set(true)
	for _, h := range []*machine.Host{h1, h2} {
		began := time.Now()
		said := h.Must(c.bin, "status") // and one that waits for etcd is ended with its host's patience
		took := time.Since(began)
		require.Contains(t, said, "leases in etcd")
		began = time.Now()
		said, exit := h.Run(c.bin, "explain", "--pid", "1", viewDir)
		t.Logf("%s: status after %v, explain after %v (exit %d): %s", h.Name, took, time.Since(began), exit, said)
		if exit != 10 { // or what was seen a moment ago
			requireExit(t, 15, exit, said)
			require.Contains(t, said, "etcd [")
		}
	}
	exit, said = held.j.Wait()
	require.NotZero(t, exit, said)
	require.Contains(t, said, "expired")
	began := time.Now()
	said, exit = h2.Run("sh", "-c", "echo intruder >"+viewDir+"/file")
	require.NotZero(t, exit, said)
	t.Logf("a write is refused after %v: %s", time.Since(began), said)
	said, exit = c.exec(h2, "true")
	requireExit(t, 15, exit, said)
	require.Contains(t, said, "etcd does not say who holds it")
	c.ways[h1].set(false)
	c.ways[h2].set(false)
	said, exit = c.exec(h2, "echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs())
	require.Contains(t, said, "token 2")
	c.umount(h1)
	c.umount(h2)
}

// What etcd decides, no lock directory decides: neither a mount that is not configured for it, nor a command without a mount.
func TestQuickALockDirectoryGrantsNothingThatEtcdDecides(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1)
	said, exit := h2.Run(c.bin, "mount", c.path("work"), viewDir, "--control", c.path("control"))
	requireExit(t, 2, exit, said)
	require.Contains(t, said, "are kept in etcd, prefix /jvsfs/builds")
	said, exit = h2.Run(append(c.mountArgs(h2), "--etcd-prefix", "/jvsfs/other")...)
	requireExit(t, 2, exit, said)
	require.Contains(t, said, "in etcd, prefix /jvsfs/other")
	c.umount(h1)
	said, exit = h1.Run(c.bin, "lock", "acquire", c.path("work"), "--control", c.path("control"))
	require.NotZero(t, exit, said)
	said = h1.Must("sh", "-c", c.bin+" doctor "+c.path("work")+" --control "+c.path("control")+" || :")
	require.Contains(t, said, "tier C")
	require.NotContains(t, said, "tier A")
}
