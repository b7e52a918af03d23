package daemon

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// refusalSeen is a refusal as status, top and explain show it.
type refusalSeen struct {
	At          time.Time
	Worktree    string `json:"worktree_id"`
	PID         int
	UID         uint32
	Command, Op string
	Class       string
	WouldRefuse bool `json:"would_refuse"`
	Count       uint64
	Sentence    string
	Next        string
	Mountpoint  string
	Path        string
}

// recently is what explain --json says without PATH.
type recently struct {
	PID        int
	Ended      bool
	Refusals   []refusalSeen
	Worktrees  []harness.Explanation
	Silent     []silence
	Incomplete bool
}

// silence is a mount that did not answer.
type silence struct{ Class, Message string }

// recent runs explain in the actor's session, until a daemon that lives has answered in time (client.StatusTimeout).
func recent(m *harness.Mount, a *harness.Actor, options string) (r recently, exit int64) {
	m.T.Helper()
	harness.Eventually(m.T, "the daemon answers", func() bool {
		var out string
		exit, out = a.Run("/", "", m.Bin+" explain --json --since 10m "+options)
		r = recently{}
		require.NoError(m.T, json.Unmarshal([]byte(out), &r), out)
		return m.Dead || len(r.Silent) == 0
	})
	return r, exit
}

// A command that failed is explained in the shell that ran it, although the command
// has ended; nobody else's is.
func TestExplainTellsTheShellWhyItsCommandFailed(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b, other := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "other")
	held := m.Acquire(a, "main")
	none, exit := recent(m, b, "")
	require.Zero(t, exit)
	require.Empty(t, none.Refusals)

	code, said := b.Run("/", "", "for i in 1 2 3; do cp /etc/passwd "+m.At("main", "f")+"; done")
	require.NotZero(t, code)
	require.Contains(t, said, "Read-only file system")
	r, exit := recent(m, b, "")
	require.EqualValues(t, harness.ExitConflict, exit)
	require.False(t, r.Incomplete)
	require.NotEmpty(t, r.Refusals)
	total := uint64(0)
	for _, one := range r.Refusals {
		total += one.Count
		require.Equal(t, []any{"cp", "main", "E_LOCK_CONFLICT", m.Mountpoint, m.At("main"), false},
			[]any{one.Command, one.Worktree, one.Class, one.Mountpoint, one.Path, one.WouldRefuse})
		require.Contains(t, one.Sentence, held.HolderID)
		require.Contains(t, one.Sentence, "left unless renewed")
		require.Contains(t, one.Next, "jvsfs lock acquire --wait 1m "+m.At("main"))
		require.WithinDuration(t, time.Now(), one.At, harness.Patience)
	}
	require.EqualValues(t, 3, total)
	require.Len(t, r.Worktrees, 1)
	require.False(t, r.Worktrees[0].Allowed)
	require.Equal(t, m.At("main"), r.Worktrees[0].Path)

	_, text := b.Run("/", "", m.Bin+" explain --since 10m")
	require.Contains(t, text, "3 writes of cp were refused in "+m.At("main")+" (E_LOCK_CONFLICT, ")
	require.Contains(t, text, held.HolderID)
	require.Contains(t, text, "now: "+m.At("main")+": a write by process ")
	require.Contains(t, text, ", for the same reason")

	r, exit = recent(m, other, "")
	require.Zero(t, exit)
	require.Empty(t, r.Refusals, "what another session was refused")
	_, text = other.Run("/", "", m.Bin+" explain")
	require.Contains(t, text, "no write of this session was refused in the last 10s")

	m.Release(a, "main")
	m.Acquire(b, "main")
	r, _ = recent(m, b, "")
	require.True(t, r.Worktrees[0].Allowed, "it may write now")
}

// As the last command of a shell that a harness starts, explain has the harness for a parent
// (bash became it). It judges itself: the harness may write, in its own session, and the
// command of another session may not.
func TestExplainJudgesWhoAsks(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "harness")
	a.OK(m.Put("f"))
	ask := func(how, options string) (x harness.Explanation, exit int64) {
		exit, out := a.Run(m.Mountpoint, how, "exec bash -c 'exec "+m.Bin+" explain --json "+options+"'")
		if options != "" {
			require.NoError(t, json.Unmarshal([]byte(out), &x), out)
			return x, exit
		}
		var r recently
		require.NoError(t, json.Unmarshal([]byte(out), &r), out)
		require.Len(t, r.Worktrees, 1)
		return r.Worktrees[0], exit
	}
	for _, options := range []string{m.At("f"), ""} {
		x, exit := ask("", options)
		require.True(t, x.Allowed, "in the harness's session")
		require.Zero(t, exit)
		x, exit = ask("setsid", options)
		require.False(t, x.Allowed, "in a session of its own")
		require.EqualValues(t, harness.ExitConflict, exit)
	}
}

// A process that has ended is named by its number; a living one is also told where it
// may write that it stands.
func TestExplainNamesAnEndedProcessByItsNumber(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a, "main")
	_, said := b.Run("/", "", "sh -c 'echo $$; echo x >"+m.At("main", "f")+"' 2>/dev/null")
	gone := strings.Fields(said)[0]
	r, exit := recent(m, a, "--pid "+gone)
	require.EqualValues(t, harness.ExitConflict, exit)
	require.True(t, r.Ended)
	require.Len(t, r.Refusals, 1)
	require.Equal(t, []any{gone, "sh"}, []any{strconv.Itoa(r.Refusals[0].PID), r.Refusals[0].Command})
	require.Empty(t, r.Worktrees)
	r, _ = recent(m, a, "--pid "+strconv.Itoa(b.PID()))
	require.Len(t, r.Refusals, 1, "what a descendant was refused")

	code, out := b.Run(m.At("worktrees", "a"), "", m.Bin+" explain --json --pid $$")
	require.EqualValues(t, harness.ExitNotHeld, code)
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	state := map[string]string{}
	for _, x := range r.Worktrees {
		state[x.Worktree] = x.Class
	}
	require.Equal(t, map[string]string{"main": "E_LOCK_CONFLICT", "a": "E_LOCK_NOT_HELD"}, state, "where it stands, of all worktrees that are known there")
	code, out = b.Run("/", "", m.Bin+" explain --json --pid $$")
	require.Zero(t, code)
	r = recently{}
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	require.Empty(t, r.Worktrees, "it stands in none")
}

// Root sees what everybody was refused, others what their own processes were.
func TestUsersSeeOnlyTheirOwnRecentRefusals(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	anne, ben := harness.StartActorAs(t, "anne", harness.Identity{UID: 1001, GID: 1001}), harness.StartActorAs(t, "ben", harness.Identity{UID: 1002, GID: 1002})
	anne.Fails(m.Put("x"), "EROFS")
	seen := func(who *harness.Actor) (uids []uint32) {
		var all struct {
			Mounts []struct {
				Mountpoint string
				Recent     []refusalSeen `json:"recent_refusals"`
			}
		}
		_, out := who.Run("/", "", m.Bin+" status --json")
		require.NoError(t, json.Unmarshal([]byte(out), &all), out)
		for _, one := range all.Mounts {
			if one.Mountpoint == m.Mountpoint {
				for _, r := range one.Recent {
					uids = append(uids, r.UID)
				}
			}
		}
		return uids
	}
	require.Equal(t, []uint32{1001}, seen(a))
	require.Equal(t, []uint32{1001}, seen(anne))
	require.Empty(t, seen(ben))
	r, exit := recent(m, ben, "--pid "+strconv.Itoa(anne.PID()))
	require.Empty(t, r.Refusals)
	require.Zero(t, exit)
	r, _ = recent(m, a, "--pid "+strconv.Itoa(anne.PID()))
	require.Len(t, r.Refusals, 1)
}

// What no guard refuses is remembered too: names that are no worktree's, the records.
func TestExplainRemembersRefusalsOutsideOfWorktrees(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, Prepare: harness.WithFiles("f")})
	b := harness.StartActor(t, "b")
	b.Fails(harness.Command{Op: "mkdir", Path: m.At("worktrees", "no good"), Mode: 0o755}, "EROFS")
	b.Fails(m.Put(".jvs", "locks", "x"), "EROFS")
	r, _ := recent(m, b, "")
	classes := map[string]string{}
	for _, one := range r.Refusals {
		classes[one.Class] = one.Sentence
	}
	require.Contains(t, classes["E_BAD_WORKTREE_ID"], "no good")
	require.Contains(t, classes["E_SEALED"], "by jvsfs alone")
}

// Where a mount only observes, what would be refused is told as that, and is no error.
func TestExplainInObserveModeTellsWhatWouldBeRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--enforce", "observe"}, Prepare: harness.WithFiles("f")})
	b := harness.StartActor(t, "b")
	b.OK(m.Put("f"))
	r, exit := recent(m, b, "")
	require.Zero(t, exit)
	require.NotEmpty(t, r.Refusals)
	require.True(t, r.Refusals[0].WouldRefuse)
	_, text := b.Run("/", "", m.Bin+" explain --since 10m")
	require.Contains(t, text, "would have been refused")
}

// A mount that does not answer is an answer to "my command just failed, why?". It
// makes the exit code where the process stands in it.
func TestExplainNamesADeadMountAsTheReason(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	b := harness.StartActor(t, "b")
	b.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDONLY})
	m.KillDaemon()
	r, exit := recent(m, b, "--pid "+strconv.Itoa(b.PID()))
	require.EqualValues(t, harness.ExitDead, exit)
	require.True(t, slices.ContainsFunc(r.Silent, func(f silence) bool { return strings.Contains(f.Message, m.Mountpoint+" is dead") }))
	b.Do(harness.Command{Op: "close", Handle: "f"}) // nobody is left to flush it
	_, exit = recent(m, b, "--pid "+strconv.Itoa(b.PID()))
	require.Zero(t, exit)
}
