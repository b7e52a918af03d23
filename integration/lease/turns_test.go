package lease

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Whoever is willing to wait for a lease has it in the order of asking, and is not refused for
// having asked while somebody else's short command had it.

const turnAgents = 8

// turnCommands is how many commands each agent runs, one after the other: JVSFS_TURNS, or few.
func turnCommands(t testing.TB) int {
	text := os.Getenv("JVSFS_TURNS")
	if text == "" {
		return harness.Rounds(25)
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// agents run commands in one worktree at the same time. Each is told who it is, and how many
// commands had their turn before it was begun; its command adds a line of both to the file
// "turns" of the worktree.
func agents(m *harness.Mount, command func(agent, before string) *exec.Cmd) {
	m.T.Helper()
	turns := m.Behind("turns")
	require.NoError(m.T, os.WriteFile(turns, nil, 0o644))
	rounds := turnCommands(m.T)
	var all sync.WaitGroup
	for i := range turnAgents {
		all.Go(func() {
			for range rounds {
				said, err := command(strconv.Itoa(i), strconv.Itoa(lines(m, turns))).CombinedOutput()
				if err != nil {
					m.T.Errorf("agent %d was refused: %v: %s", i, err, said)
					return
				}
			}
		})
	}
	all.Wait()
	requireTurns(m, turns, rounds)
}

func lines(m *harness.Mount, path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		m.T.Error(err)
	}
	return strings.Count(string(text), "\n")
}

// requireTurns holds that all had all their turns, and nobody had to let pass more than three
// times as many as one does in the mean.
func requireTurns(m *harness.Mount, path string, rounds int) {
	m.T.Helper()
	count, sum, most := map[string]int{}, 0, 0
	for at, line := range strings.Split(strings.TrimSpace(harness.ReadText(m.T, path)), "\n") {
		var agent string
		var before int
		_, err := fmt.Sscan(line, &agent, &before)
		require.NoError(m.T, err, line)
		count[agent]++
		sum, most = sum+at-before, max(most, at-before)
	}
	require.Len(m.T, count, turnAgents)
	for agent, n := range count {
		require.Equal(m.T, rounds, n, "agent %s", agent)
	}
	mean := float64(sum) / float64(turnAgents*rounds)
	m.T.Logf("others' turns that one had to let pass: %.1f in the mean, %d at most", mean, most)
	require.LessOrEqual(m.T, float64(most), max(3*mean, turnAgents), "somebody starves")
}

// Commands under exec --wait.
func TestEveryExecWithWaitHasItsTurn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	agents(m, func(agent, before string) *exec.Cmd {
		return exec.Command(m.Bin, "exec", "--wait", "10m", m.Mountpoint, "--", "sh", "-c", `echo "$1" "$2" >>"$0"`, m.At("turns"), agent, before)
	})
}

// Commands that know nothing of leases, each in a session of its own as agents' harnesses start
// them. They make, rename and remove names in one directory, which the kernel locks for a call
// that does: who waits must not keep the holder from it.
func TestEveryWaitingWriterHasItsTurn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--wait-on-conflict", "1m"}})
	agents(m, func(agent, before string) *exec.Cmd {
		c := exec.Command("setsid", "--wait", "sh", "-ec", `echo one >new.$1; mkdir dir.$1; mv new.$1 dir.$1/new; rm -r dir.$1; echo "$1" "$2" >>turns`, "sh", agent, before)
		c.Dir = m.Mountpoint
		return c
	})
	all, err := os.ReadDir(m.View)
	require.NoError(t, err)
	require.Len(t, all, 1, "no litter")
	require.Zero(t, m.WorktreeStatus("source").Refusals)
}

// waitsIn waits until a call of an actor waits in the mount.
func waitsIn(m *harness.Mount, a *harness.Actor) {
	m.T.Helper()
	harness.Eventually(m.T, a.Name+" waits", func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", a.PID()))
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			if strings.Contains(string(text), "request_wait_answer") || strings.Contains(string(text), "fuse") {
				return true
			}
		}
		return false
	})
}

// A write waits for a holder that ends soon, whatever call it is; the holder goes on in the very
// directory, and so does who reads.
func TestAWriteWaitsForAShortLivedHolder(t *testing.T) {
	for name, write := range map[string]func(m *harness.Mount) harness.Command{
		"make":   func(m *harness.Mount) harness.Command { return m.Put("new") },
		"remove": func(m *harness.Mount) harness.Command { return harness.Command{Op: "unlink", Path: m.At("f")} },
		"rename": func(m *harness.Mount) harness.Command { return m.Move("f", "g") },
		"link": func(m *harness.Mount) harness.Command {
			return harness.Command{Op: "link", Path: m.At("f"), To: m.At("g")}
		},
		"mkdir": func(m *harness.Mount) harness.Command {
			return harness.Command{Op: "mkdir", Path: m.At("g"), Mode: 0o755}
		},
		"open": func(m *harness.Mount) harness.Command { return m.Put("f") },
		"chmod": func(m *harness.Mount) harness.Command {
			return harness.Command{Op: "chmod", Path: m.At("f"), Mode: 0o600}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Extra: []string{"-o", "wait_on_conflict=1m"}, Prepare: harness.WithFiles("f", "read")})
			holder, waiter, reader := harness.StartActor(t, "holder"), harness.StartActor(t, "waiter"), harness.StartActor(t, "reader")
			holder.OK(m.Put("held"))
			answer := waiter.Begin(write(m))
			waitsIn(m, waiter)
			holder.OK(m.Put("held2")) // in the directory that the call locks
			holder.OK(m.Move("held2", "held3"))
			reader.OK(harness.Command{Op: "readfile", Path: m.At("read")})
			reader.OK(harness.Command{Op: "readdir", Path: m.At()})
			require.Empty(t, answer, "it waits still")
			holder.End()
			select {
			case r := <-answer:
				require.Empty(t, r.Errno)
			case <-time.After(harness.Patience):
				t.Fatal("it waits for ever")
			}
			require.Zero(t, m.WorktreeStatus("source").Refusals)
		})
	}
}

// The wait has an end, as long as it was said, and then the refusal is the usual one. Without
// wait_on_conflict there is no wait.
func TestAWriteWaitsNoLongerThanWaitOnConflict(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--wait-on-conflict", "300ms"}, Prepare: harness.WithFiles("f")})
	holder, waiter := harness.StartActor(t, "holder"), harness.StartActor(t, "waiter")
	holder.OK(m.Put("held"))
	for _, c := range []harness.Command{m.Put("new"), m.Put("f"), m.Move("f", "g")} {
		began := time.Now()
		waiter.Fails(c, "EROFS")
		require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	}
	require.EqualValues(t, 3, m.WorktreeStatus("source").Refusals, "one each, however the kernel came by")
	out, _, exit := m.CLI("explain", "--pid", strconv.Itoa(waiter.PID()), "--since", "10m")
	require.Equal(t, harness.ExitConflict, exit, out)
	require.Contains(t, out, "is being written by")
}

// Who waits can be killed, and keeps nobody's place then.
func TestAWriteThatWaitsOnAConflictCanBeKilled(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--wait-on-conflict", "1m"}, Prepare: harness.WithFiles("f")})
	holder, last := harness.StartActor(t, "holder"), harness.StartActor(t, "last")
	holder.OK(m.Put("held"))
	for _, line := range []string{"echo >new", "echo >f", "exec rm f"} {
		c := exec.Command("sh", "-c", line)
		c.Dir = m.Mountpoint
		c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		require.NoError(t, c.Start())
		harness.Eventually(t, "it waits", func() bool { return waitingMutations(m) == 1 })
		require.NoError(t, unix.Kill(c.Process.Pid, unix.SIGKILL))
		_ = c.Wait() // it was killed
		harness.Eventually(t, "it waits no longer", func() bool { return waitingMutations(m) == 0 })
	}
	answer := last.Begin(m.Put("new"))
	holder.End()
	require.Empty(t, (<-answer).Errno)
	require.FileExists(t, m.Behind("f"))
}

func waitingMutations(m *harness.Mount) int64 {
	m.T.Helper()
	var all struct {
		Mounts []struct{ Statistics struct{ Waiting int64 } }
	}
	harness.RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	require.Len(m.T, all.Mounts, 1)
	return all.Mounts[0].Statistics.Waiting
}
