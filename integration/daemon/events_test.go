package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// happened is a line of watch --json (a part of it).
type happened struct {
	Event, Mountpoint, Run, Path, Reason string
	At                                   string
	Seq, First, Last                     uint64
	Worktree                             string `json:"worktree_id"`
	Token                                uint64 `json:"fencing_token"`
	Previous                             uint64 `json:"previous_token"`
	PreviousRun                          string `json:"previous_run"`
	Enforce                              string
	EnforcePrevious                      string `json:"enforce_previous"`
	Holder, From                         *struct {
		PID           int
		Host, Purpose string
	}
	Lock *struct {
		Rule, ID, Lock string
		Tenure         uint64
	}
	Window *struct {
		Window uint64
		Rules  []string
	}
	Refusal *struct {
		PID             int
		UID             uint32
		Op, Class, Next string
		Count           uint64
	}
}

// watcher is a jvsfs watch --json that runs beside the test.
type watcher struct {
	*harness.Background
	m *harness.Mount
}

func watch(m *harness.Mount, since string) watcher {
	return watcher{m.Start(m.Bin, "watch", "--json", "--since", since, m.Mountpoint), m}
}

// all are the events up to now.
func (w watcher) all() (events []happened) {
	w.m.T.Helper()
	return eventsIn(w.m.T, harness.ReadText(w.m.T, w.File))
}

func eventsIn(t *testing.T, text string) (events []happened) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // it is just being written
		}
		var e happened
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		events = append(events, e)
	}
	return events
}

// tells waits for an event, and returns it.
func (w watcher) tells(what string, is func(happened) bool) (e happened) {
	w.m.T.Helper()
	harness.EventuallyNoted(w.m.T, "watch tells "+what, func() (bool, string) {
		all := w.all()
		i := slices.IndexFunc(all, is)
		if i >= 0 {
			e = all[i]
		}
		return i >= 0, harness.ReadText(w.m.T, w.File)
	})
	return e
}

func kind(name string) func(happened) bool {
	return func(e happened) bool { return e.Event == name }
}

// What becomes of a lease is told: who took it, who was refused, who stole it, to whom it was given, and that
// it was given back; and the mode.
func TestWatchTellsEachChangeOfALease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	w := watch(m, "0")
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	m.MustCLI("lock", "acquire", "--pid", harness.PIDOf(a), "--purpose", "a\x1b[2Jtest", m.At("main"))
	taken := w.tells("who took it", kind("acquired"))
	require.Equal(t, a.PID(), taken.Holder.PID)
	require.Equal(t, "main", taken.Worktree)
	require.Equal(t, m.At("main"), taken.Path)
	require.Equal(t, m.Mountpoint, taken.Mountpoint)
	require.NotContains(t, harness.ReadText(t, w.File), "\x1b")

	for range 50 {
		b.Fails(m.Put("main", "f"), "EROFS")
	}
	no := w.tells("who was refused", kind("refused"))
	require.Equal(t, b.PID(), no.Refusal.PID)
	require.Equal(t, "E_LOCK_CONFLICT", no.Refusal.Class)
	require.Equal(t, a.PID(), no.Holder.PID)
	m.Enforce("observe")
	b.OK(m.Put("main", "f"))
	m.Enforce("enforce")
	mode := w.tells("the mode", kind("mode_switched"))
	require.Equal(t, "observe", mode.Enforce)
	require.Equal(t, "enforce", mode.EnforcePrevious)
	require.Equal(t, b.PID(), w.tells("what would be refused", kind("would_refuse")).Refusal.PID)

	a.Stop()
	m.AwaitStealable("main")
	m.Steal(b, "main")
	w.tells("the loss", kind("lost"))
	stolen := w.tells("the theft", kind("stolen"))
	require.Equal(t, b.PID(), stolen.Holder.PID)
	require.Equal(t, a.PID(), stolen.From.PID)
	require.Greater(t, stolen.Token, stolen.Previous)
	a.Resume()

	m.MustCLI("lock", "handover", "--to-pid", harness.PIDOf(c), m.At("main"))
	given := w.tells("to whom it was given", kind("handed_over"))
	require.Equal(t, c.PID(), given.Holder.PID)
	require.Equal(t, b.PID(), given.From.PID)
	m.Release(c, "main")
	require.Equal(t, c.PID(), w.tells("the release", kind("released")).Holder.PID)

	told := w.all()
	refusals := 0
	for i, e := range told {
		require.EqualValues(t, i+1, e.Seq, "no number is left out")
		require.Equal(t, taken.Run, e.Run)
		require.NotEmpty(t, e.At)
		if e.Event == "refused" {
			refusals++
		}
	}
	require.Less(t, refusals, 25, "fifty equal refusals are no fifty events")

	again := watch(m, fmt.Sprintf("%s:%d", no.Run, no.Seq))
	again.tells("what came after", kind("released"))
	require.Equal(t, told[no.Seq:], again.all()[:len(told)-int(no.Seq)])
	require.NoError(t, unix.Kill(again.PID(), unix.SIGINT))
	exit, said := again.Wait()
	require.Zero(t, exit, said)

	m.Unmount()
	exit, said = w.Wait()
	require.Zero(t, exit, said)
	require.Equal(t, "ended", eventsIn(t, said)[len(eventsIn(t, said))-1].Event)
}

// A line for people has no control characters, whatever a purpose has.
func TestWatchPrintsNoControlCharacters(t *testing.T) {
	m := heldFor(t, "a\x1b[2Jtest")
	w := m.Start(m.Bin, "watch", "--since", "0", m.At("main"))
	harness.Eventually(t, "it tells of the refusals", func() bool { return strings.Contains(harness.ReadText(t, w.File), "refused") })
	require.NoError(t, unix.Kill(w.PID(), unix.SIGTERM))
	exit, said := w.Wait()
	require.Zero(t, exit, said)
	require.NotContains(t, said, "\x1b")
	require.Contains(t, said, "a?[2Jtest")
	require.Regexp(t, `acquired +`+m.At("main")+`  token 1  `, said)
	require.Regexp(t, `refused .*\(pid \d+, uid 0\): E_LOCK_CONFLICT: `, said)
}

// Another daemon at the same place goes on with the events. If one was replaced, nothing is missing; if it was
// killed, nobody knows what it would have told.
func TestWatchGoesOnWithTheNextDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	w := watch(m, "0")
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	first := w.tells("who took it", kind("acquired"))
	replace(m)
	next := w.tells("the new daemon", func(e happened) bool { return e.Event == "replaced" || e.Event == "missed" })
	require.Equal(t, "replaced", next.Event, harness.ReadText(t, w.File))
	require.Equal(t, first.Run, next.PreviousRun)
	require.NotEqual(t, first.Run, next.Run)
	goesOn := w.tells("that the holder goes on", func(e happened) bool { return e.Run == next.Run && e.Token == first.Token })
	require.Equal(t, "acquired", goesOn.Event)
	require.Equal(t, a.PID(), goesOn.Holder.PID)

	m.KillDaemon()
	w.tells("that the daemon is gone", kind("silent"))
	m.Recover()
	missed := w.tells("that events may be missing", kind("missed"))
	require.Equal(t, next.Run, missed.PreviousRun)
	require.EqualValues(t, goesOn.Seq+1, missed.First)
	w.tells("that the holder goes on", func(e happened) bool { return e.Run == missed.Run && e.Token == first.Token })

	late := watch(m, fmt.Sprintf("%s:%d", first.Run, first.Seq))
	gone := late.tells("that events are missing", kind("missed"))
	require.Equal(t, first.Run, gone.PreviousRun)
	require.Equal(t, missed.Run, gone.Run)
	late.Kill()
}

// refusedInThreads is refused by more events than the daemon keeps: equal refusals of one thread are one event. A process
// for each took more than a minute on a machine that is busy with other work.
const refusedInThreads = `
import os, sys, threading

def refused():
    try:
        os.open(sys.argv[1], os.O_WRONLY)
    except OSError:
        pass

for _ in range(2500):
    thread = threading.Thread(target=refused)
    thread.start()
    thread.join()
`

// A reader that comes late, or stands still, is told what it missed; nobody waits for it.
func TestWatchSaysWhatItMissed(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	stopped := watch(m, "0")
	m.Acquire(a)
	first := stopped.tells("who took it", kind("acquired"))
	require.NoError(t, unix.Kill(stopped.PID(), unix.SIGSTOP))
	exit, said := m.Start("python3", "-c", refusedInThreads, m.At("f")).Wait()
	require.Zero(t, exit, said)
	m.Release(a)
	require.NoError(t, unix.Kill(stopped.PID(), unix.SIGCONT))
	missed := stopped.tells("what it missed", kind("missed"))
	require.Equal(t, first.Run, missed.Run)
	require.Empty(t, missed.PreviousRun)
	require.Greater(t, missed.First, first.Seq)
	require.Greater(t, missed.Last, missed.First)
	stopped.tells("the rest", kind("released"))
	var seq uint64
	for _, e := range stopped.all() { // each number was told, or told as missed
		if e.Event == "silent" { // it stood still for so long that its question ran out
			continue
		}
		if e.Event == "missed" {
			require.Equal(t, seq+1, e.First)
			seq = e.Last
			continue
		}
		require.Equal(t, seq+1, e.Seq)
		seq = e.Seq
	}
}

// Leases are told to everybody, refusals to root and to the refused user.
func TestWatchTellsRefusalsToTheirUser(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	anne, ben := harness.StartActorAs(t, "anne", harness.Identity{UID: 1001, GID: 1001}), harness.StartActorAs(t, "ben", harness.Identity{UID: 1002, GID: 1002})
	anne.Fails(m.Put("x"), "EROFS")
	m.Release(a)
	seen := func(who *harness.Actor) (kinds []string) {
		_, out := who.Run("/", "", `bash -c 'exec 3< <(exec "$0" watch --json --since 0 "$1"); watch=$!
			while read -r event <&3; do echo "$event"; case $event in *\"released\"*) break; esac; done; kill -INT $watch' `+m.Bin+" "+m.Mountpoint)
		for _, e := range eventsIn(t, out) {
			kinds = append(kinds, e.Event)
		}
		return kinds
	}
	require.Equal(t, []string{"acquired", "refused", "released"}, seen(a))
	require.Equal(t, []string{"acquired", "refused", "released"}, seen(anne))
	require.Equal(t, []string{"acquired", "released"}, seen(ben))
}

// Without a path it tells of all mounts, also of one that comes later.
func TestWatchWithoutAPathTellsOfAllMounts(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	w := m.Start(m.Bin, "watch", "--json")
	said := func() string { text, err := os.ReadFile(w.File); require.NoError(t, err); return string(text) }
	m.Mount()
	a := harness.StartActor(t, "a")
	harness.EventuallyNoted(t, "it tells of the new mount", func() (bool, string) {
		m.Acquire(a)
		m.Release(a)
		return strings.Contains(said(), m.Mountpoint), said()
	})
	m.Unmount()
	harness.Eventually(t, "it tells of the end", func() bool {
		return slices.ContainsFunc(eventsIn(t, said()), func(e happened) bool { return e.Event == "ended" && e.Mountpoint == m.Mountpoint })
	})
	require.NoError(t, unix.Kill(w.PID(), unix.SIGINT))
	exit, text := w.Wait()
	require.Zero(t, exit, text)
}

// What watch cannot do ends at once, with what to do instead.
func TestWatchEndsAtOnceForWhatItCannotDo(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	for name, try := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"no mount":          {[]string{"watch", "/usr"}, harness.ExitDead, "is on no jvsfs mount"},
		"no number":         {[]string{"watch", "--since", "yesterday", m.Mountpoint}, harness.ExitUsage, "--since 0 for all"},
		"a run, no number":  {[]string{"watch", "--since", "ABC:", m.Mountpoint}, harness.ExitUsage, "--since 0 for all"},
		"of which mount":    {[]string{"watch", "--since", "7"}, harness.ExitUsage, "jvsfs watch --since 7 MOUNTPOINT"},
		"several for a run": {[]string{"watch", "--since", "X:7"}, harness.ExitUsage, "say which"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, exit := m.CLI(try.args...)
			require.Equal(t, try.exit, exit, errs)
			require.Contains(t, errs, try.says)
		})
	}
	m.KillDaemon()
	_, errs, exit := m.CLI("watch", m.Mountpoint)
	require.Equal(t, harness.ExitDead, exit, errs)
}
