package lease

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// silentHost is a mount whose records lie on a store of several hosts, with a fence agent. Another host holds the lease, and has been
// silent for an hour.
func silentHost(t *testing.T, onFree, agent string) (m *harness.Mount, program, said string) {
	t.Helper()
	m, program, said = silentHostsMount(t, harness.MountOptions{OnFree: onFree, Prepare: harness.WithFiles("f")}, agent)
	silentRecord(t, m, "")
	return m, program, said
}

// silentHostsMount is silentHost without that lease.
func silentHostsMount(t *testing.T, o harness.MountOptions, agent string) (m *harness.Mount, program, said string) {
	t.Helper()
	m = harness.PrepareMount(t, o)
	m.LockDir = filepath.Join(newLacking(t, "nothing"), "control")
	program, said = filepath.Join(m.Base, "fence_test"), filepath.Join(m.Base, "said")
	writeAgent(t, program, "cat >>"+said+"; "+agent)
	// The skew bounds how long a busy machine may take from a clock to a stamp, too. The lease is what a takeover waits for.
	m.Opts.Extra = []string{"--max-clock-skew", "1m", "--lease-duration", harness.Hasty.Lease.String(), "--renew-interval", harness.Hasty.Renew.String(),
		"--config", m.WriteConfig("jvsfs.yaml", fmt.Sprintf("fence: [%s, \"port={node}\"]\n", program))}
	if o.Repository { // whose records are in it otherwise
		m.Opts.Extra = append(m.Opts.Extra, "--control", m.LockDir)
	}
	m.Mount()
	return m, program, said
}

// silentRecord writes another host's lease of a worktree that ended an hour ago behind one that was released. "" is the only worktree.
func silentRecord(t *testing.T, m *harness.Mount, id string, path ...string) {
	t.Helper()
	a := harness.StartActor(t, "first")
	m.Acquire(a, path...)
	m.Release(a, path...)
	file, _ := m.HeadClaim(id)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, file)), &fields))
	then := time.Now().Add(-time.Hour)
	for name, value := range map[string]any{
		"fencing_token": 2, "released": false, "holder_nonce": "0123456789abcdef", "holder_id": "h1.example:zoe:42:7", "auto": false,
		"host_boot_id": "another-boot", "pid_namespace": "pid:[1]", "store_client": "4711", "purpose": "its work",
		"last_renewed_at": then.UTC(), "lease_expires_at": then.Add(2 * time.Second).UTC(),
	} {
		fields[name] = value
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	name, _, _ := strings.Cut(filepath.Base(file), ".claim.")
	born := filepath.Join(filepath.Dir(file), "."+name)
	require.NoError(t, os.WriteFile(born, text, 0o600))
	require.NoError(t, os.Chtimes(born, then, then))
	require.NoError(t, os.Rename(born, filepath.Join(filepath.Dir(file), fmt.Sprintf("%s.claim.%020d", name, 2))))
}

// The commands that work on the records without a mount cut the other host off as a mount does, or leave its lease.
func TestCommandsWithoutAMountCutASilentHostOff(t *testing.T) {
	m, program, said := silentHost(t, "deny", "exit 0")
	m.Unmount()
	a := harness.StartActor(t, "a")
	pid := strconv.Itoa(a.PID())
	const short = "lease_duration: 2s\nrenew_interval: 400ms\nmax_clock_skew: 1m\nsteal_grace: 0s\n" // nobody renews it
	without := m.WriteConfig("without.yaml", short)
	with := m.WriteConfig("with.yaml", short+"fence: ["+program+"]\n")
	try := func(config string, words ...string) (said string, exit int) {
		t.Helper()
		out, errs, exit := m.CLI(append(words, "--control", m.LockDir, "--config", config, m.Source)...)
		return out + errs, exit
	}
	refuses := func(why, config string) {
		t.Helper()
		harness.Eventually(t, why, func() bool {
			said, exit := try(config, "lock", "acquire", "--wait", "5s", "--pid", pid) // it sees the record for a lease first
			require.Equal(t, harness.ExitConflict, exit, said)
			return strings.Contains(said, why) && strings.Contains(said, "still waiting: ")
		})
		require.NoFileExists(t, said)
		_, head := m.HeadClaim("")
		require.EqualValues(t, 2, head.TokenNumber(t))
	}
	refuses("its host has a fence agent configured, and here none is", without)
	require.NoError(t, os.Chown(with, 12345, 0))
	refuses(with+" does not belong to root", with)
	require.NoError(t, os.Chown(with, 0, 0))
	writeAgent(t, program, "echo 'no such node' >&2; exit 7")
	refuses(program+" ended with exit code 7: no such node", with)

	writeAgent(t, program, "cat >>"+said)
	out, exit := try(with, "lock", "acquire", "--wait", "3m", "--pid", pid)
	require.Zero(t, exit, out)
	require.Contains(t, out, "token 3")
	require.Contains(t, harness.ReadText(t, said), "action=off\nnodename=h1.example\nplug=4711\njvsfs_client=4711\n")
	audit, errs, exit := m.CLI("audit", "tail", "--json", "-n", "1000", "--control", m.LockDir, m.Source)
	require.Zero(t, exit, errs)
	require.Regexp(t, `(?s)"host_fence".*"host_fence_failed".*"host_fence".*"host_fenced".*"lock_steal"`, audit)
	require.NotContains(t, audit, "unclean")
}

// exec without a mount, too: CMD runs only when the other host was cut off.
func TestExecWithoutAMountCutsASilentHostOff(t *testing.T) {
	m, program, said := silentHost(t, "deny", "exit 0")
	m.Unmount()
	with := m.WriteConfig("with.yaml", "lease_duration: 4s\nrenew_interval: 400ms\nmax_clock_skew: 1m\nfence: ["+program+"]\n")
	out, errs, exit := m.CLI("exec", "--wait", "3m", "--control", m.LockDir, "--config", with, m.Source, "--", "cat", said)
	require.Zero(t, exit, errs)
	require.Contains(t, out, "nodename=h1.example\n", "before CMD")
}

// writeAgent puts a program in place of another, which may run.
func writeAgent(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	require.NoError(t, os.Rename(path+".new", path))
}

func acquireWaiting(m *harness.Mount, a *harness.Actor) string {
	return m.MustCLI("lock", "acquire", "--wait", "3m", "--pid", strconv.Itoa(a.PID()), m.Mountpoint)
}

// fences are the events of the chain about the other host, in their order, and the steal.
func fences(m *harness.Mount) (all []string) {
	for _, l := range m.AuditTail(m.Mountpoint) {
		if strings.HasPrefix(l.Type, "host_") || l.Type == "lock_steal" {
			all = append(all, l.Type)
		}
	}
	return all
}

// The agent is called as a cluster calls it, before the lease is taken over; then the takeover is clean.
func TestASilentHostIsCutOffBeforeItsLeaseIsTaken(t *testing.T) {
	m, _, said := silentHost(t, "deny", "exit 0")
	a := harness.StartActor(t, "a")
	require.Contains(t, acquireWaiting(m, a), "token 3")
	a.OK(m.Put("f"))
	require.Contains(t, harness.ReadText(t, said), "action=off\nnodename=h1.example\nplug=4711\njvsfs_client=4711\n")
	require.Contains(t, harness.ReadText(t, said), "port=h1.example\n")
	require.Equal(t, []string{"host_fence", "host_fenced", "lock_steal"}, fences(m))
	for _, l := range m.AuditTail(m.Mountpoint) {
		switch l.Type {
		case "lock_steal":
			require.NotContains(t, l.Details, "unclean")
		case "host_fence":
			require.Equal(t, "h1.example", l.Details["host"])
			require.Equal(t, "4711", l.Details["store_client"])
		}
	}
	m.Release(a)
}

// A host that held two leases is cut off once: the second time the agent would cut off the client with which it is there again.
func TestASilentHostIsCutOffOnceForAllItsLeases(t *testing.T) {
	m, _, said := silentHostsMount(t, harness.MountOptions{OnFree: "deny", Repository: true}, "exit 0")
	silentRecord(t, m, "main", "main")
	silentRecord(t, m, "feature", "worktrees", "feature")
	for _, path := range [][]string{{"main"}, {"worktrees", "feature"}} {
		exit, said := m.Start(m.Bin, "exec", "--wait", harness.Patience.String(), m.At(path...), "--", "true").Wait()
		require.Zero(t, exit, said)
	}
	require.Equal(t, 1, strings.Count(harness.ReadText(t, said), "action=off\n"))
	require.Equal(t, []string{"host_fence", "host_fenced", "lock_steal", "lock_steal"}, fences(m))
}

// An agent that fails is no takeover: whoever asks is told what it said, and nobody writes. --wait goes on trying.
func TestNobodyTakesALeaseOverWhenTheFenceAgentFails(t *testing.T) {
	m, program, _ := silentHost(t, "acquire", "echo 'no such node' >&2; exit 7")
	a := harness.StartActor(t, "a")
	harness.Eventually(t, "the agent's failure is told", func() bool {
		exit, errs := m.TryLock("acquire", a)
		require.Equal(t, harness.ExitConflict, exit, errs)
		return strings.Contains(errs, program+" ended with exit code 7: no such node")
	})
	a.Fails(m.Put("f"), "EROFS")
	_, head := m.HeadClaim("")
	require.EqualValues(t, 2, head.TokenNumber(t))
	x, _ := m.Explain(a.PID(), m.At("f"))
	require.Contains(t, x.Status.Detail, "no such node")
	require.Subset(t, []string{"host_fence", "host_fence_failed"}, fences(m))

	writeAgent(t, program, "exit 0")
	require.Contains(t, acquireWaiting(m, a), "token 3")
	a.OK(m.Put("f"))
	m.Release(a)
}

// While an agent runs, writers are refused after a moment, status tells what goes on, and an unmount does not wait for it.
func TestAFenceAgentThatHangsDelaysNoWriterAndNoUnmount(t *testing.T) {
	m, program, _ := silentHost(t, "acquire", "exec sleep 1000")
	a := harness.StartActor(t, "a")
	var st harness.WorktreeStatus
	harness.Eventually(t, "the agent runs", func() bool {
		a.Fails(m.Put("f"), "EROFS")
		x, _ := m.Explain(a.PID(), m.At("f"))
		st = x.Status
		return strings.Contains(st.Detail, "its host h1.example is being cut off the store by "+program)
	})
	_, errs, exit := m.CLI("lock", "status", m.Mountpoint)
	require.Zero(t, exit, errs)
	m.Unmount()
}

// A configuration that somebody else can change names no program that root runs.
func TestNoFenceAgentRunsFromAConfigurationThatOthersCanChange(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	agent := filepath.Join(m.Base, "fence_test")
	writeAgent(t, agent, "exit 0")
	config := m.WriteConfig("jvsfs.yaml", "fence: ["+agent+"]\n")
	refused := func(why string) {
		t.Helper()
		_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--config", config)
		require.Equal(t, harness.ExitUsage, exit, errs)
		require.Contains(t, errs, why)
	}
	require.NoError(t, os.Chown(config, 12345, 0))
	refused(config + " does not belong to root")
	require.NoError(t, os.Chown(config, 0, 0))
	require.NoError(t, os.Chmod(agent, 0o777))
	refused("others than root may write " + agent)
	require.NoError(t, os.Remove(agent))
	refused("no such file")
}

// fence-check tells an agent that cuts a client off from one that only says so.
func TestFenceCheckTellsAnAgentThatCutsOffFromOneThatOnlySaysSo(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	spare := newLacking(t, "nothing")
	agent := filepath.Join(m.Base, "fence_test")
	config := m.WriteConfig("jvsfs.yaml", "fence: ["+agent+"]\n")
	check := func(body string, options ...string) (said string, exit int) {
		t.Helper()
		writeAgent(t, agent, body)
		out, errs, exit := m.CLI(append([]string{"fence-check", "--config", config, "--node", "spare", "--client", "4711", spare}, options...)...)
		return out + errs, exit
	}
	said, exit := check("exit 0")
	require.Equal(t, 1, exit, said)
	require.Contains(t, said, "the client wrote after the agent had said that it is cut off")
	said, exit = check("echo 'no power' >&2; exit 1")
	require.Equal(t, 1, exit, said)
	require.Contains(t, said, "ended with exit code 1: no power")

	var st unix.Stat_t
	require.NoError(t, unix.Stat(spare, &st))
	ctl := filepath.Join(m.Base, "fusectl")
	require.NoError(t, os.Mkdir(ctl, 0o755))
	said, exit = check(fmt.Sprintf("set -e; grep -qx plug=4711; mount -t fusectl none %[1]s; echo 1 >%[1]s/%[2]d/abort; umount %[1]s", ctl, unix.Minor(st.Dev)))
	require.Zero(t, exit, said)
	require.Contains(t, said, "its next write failed")
}
