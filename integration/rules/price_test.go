package rules

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// asked are the system calls by which a handler finds out who calls, and what lies where. Those of the transport and of Go's own
// threads are not among them.
const asked = "openat,openat2,readlinkat,newfstatat,fstat,statx,pread64,pwrite64,fallocate,ftruncate,fsync,fdatasync,flock,fcntl,pidfd_open,pidfd_send_signal,epoll_ctl,inotify_add_watch,inotify_rm_watch"

// askedRounds are so many that neither another thread of the daemon nor a time that is over disturbs all of them.
const askedRounds = 8

// askedWorks is how often an actor does its work in a round. A file is closed some time later, so a few calls of a round
// may be made before it or after it: fewer than half a call for each work.
const askedWorks = 10

// leastAsked is the least number of such calls that the daemon has made for what an actor does in a round.
func leastAsked(t *testing.T, m *harness.Mount, does func(round int)) int {
	t.Helper()
	a, end := harness.StartActor(t, "marks the rounds"), ""
	mark := func(name string) {
		a.OK(harness.Command{Op: "writefile", Path: m.At("free", name), Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644})
	}
	does(-1) // what is found out once
	out := filepath.Join(t.TempDir(), "trace")
	pids := m.Daemons()
	require.Len(t, pids, 1)
	trace := exec.Command("strace", "-f", "-qq", "-s", "256", "-o", out, "-e", "trace="+asked, "-p", strconv.Itoa(pids[0]))
	require.NoError(t, trace.Start())
	harness.Eventually(t, "the daemon is traced", func() bool { return isTraced(pids[0]) })
	for round := range askedRounds {
		mark(fmt.Sprintf("begin-%d.", round))
		for n := range askedWorks {
			does(round*askedWorks + n)
		}
		end = fmt.Sprintf("end-%d.", round)
		mark(end)
	}
	require.NoError(t, trace.Process.Signal(unix.SIGINT))
	_ = trace.Wait() // it ends by that signal
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(text), end)
	var all []int
	for round := range askedRounds {
		all = append(all, callsBetween(text, fmt.Sprintf(`"begin-%d."`, round), fmt.Sprintf(`"end-%d."`, round)))
	}
	return slices.Min(all)
}

// callsBetween counts the calls after one name was made, and before another one is looked up.
func callsBetween(text []byte, first, last string) (n int) {
	_, text, _ = bytes.Cut(text, []byte(first+", O_WRONLY"))
	text, _, _ = bytes.Cut(text, []byte(last))
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("resumed>")) {
			n++
		}
	}
	return n
}

// isTraced reports whether all threads of a process are traced.
func isTraced(pid int) bool {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	return err == nil && len(all) > 0 && !slices.ContainsFunc(all, func(status string) bool {
		text, err := os.ReadFile(status)
		return err == nil && bytes.Contains(text, []byte("\nTracerPid:\t0\n"))
	})
}

// What no rule covers costs no system call more than without rules, but to know of a name that is renamed whether it is a
// directory's. A lock that is taken and given up costs few, and nothing is flushed.
func TestRulesCostNoSystemCallForUncoveredPaths(t *testing.T) {
	const rules = agencyRule + "- preset: git\n"
	file := func(m *harness.Mount, name string) harness.Command {
		return harness.Command{Op: "writefile", Path: m.At(name), Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte("x")}
	}
	for _, work := range []struct {
		name string
		more int
		does func(a *harness.Actor, m *harness.Mount, round int)
	}{
		{"make and remove a file", 0, func(a *harness.Actor, m *harness.Mount, n int) {
			a.OK(file(m, fmt.Sprint("free/deep/", n)))
			a.OK(harness.Command{Op: "unlink", Path: m.At("free", "deep", fmt.Sprint(n))})
		}},
		{"make and remove a directory", 0, func(a *harness.Actor, m *harness.Mount, n int) {
			a.OK(harness.Command{Op: "mkdir", Path: m.At("free", "deep", fmt.Sprint(n)), Mode: 0o755})
			a.OK(harness.Command{Op: "rmdir", Path: m.At("free", "deep", fmt.Sprint(n))})
		}},
		{"save by a rename", 1, func(a *harness.Actor, m *harness.Mount, n int) {
			a.OK(file(m, fmt.Sprint("free/deep/new", n)))
			a.OK(harness.Command{Op: "rename", Path: m.At("free", "deep", fmt.Sprint("new", n)), To: m.At("free", "deep", "saved")})
		}},
		{"take a lock and give it up", lockCalls, func(a *harness.Actor, m *harness.Mount, _ int) {
			a.OK(take(m.At("repos", "a", ".lock")))
			a.OK(harness.Command{Op: "unlink", Path: m.At("repos", "a", ".lock")})
		}},
	} {
		t.Run(work.name, func(t *testing.T) {
			var calls []int
			for _, extra := range [][]string{{"--mode", "shared", "--cache", "exclusive"}, {"--mode", "shared", "--cache", "exclusive", "--rules"}} {
				t.Run(fmt.Sprint(len(extra) > 4), func(t *testing.T) {
					m := harness.PrepareMount(t, harness.MountOptions{Prepare: func(t testing.TB, dir string) {
						t.Helper()
						require.NoError(t, os.MkdirAll(filepath.Join(dir, "free", "deep"), 0o755))
						require.NoError(t, os.MkdirAll(filepath.Join(dir, "repos", "a"), 0o755))
					}})
					if m.Opts.Extra = extra; len(extra) > 4 {
						m.Opts.Extra = append(extra, m.WriteConfig("rules.yaml", rules))
					}
					m.Mount()
					a := harness.StartActor(t, "one")
					calls = append(calls, leastAsked(t, m, func(n int) { work.does(a, m, n) }))
				})
			}
			t.Logf("without rules %d, with rules %d", calls[0], calls[1])
			require.Positive(t, calls[0])
			require.LessOrEqual(t, calls[1], calls[0]+askedWorks*work.more+askedWorks/2-1)
		})
	}
}

// lockCalls is how many calls a lock may cost more. It costs 9 where who takes it was identified within the last 100 ms, and 13
// otherwise.
const lockCalls = 16
