package refusals

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// handHistory has a clock that is moved by hand, and writers that are what the test
// says.
func handHistory(of map[uint32]Writer) (h *history, now *time.Time, looked *int) {
	at, n := time.Unix(1000, 0), 0
	h = newHistory(func(c process.Caller) Writer {
		n++
		w := of[c.TID]
		w.uid = c.UID
		return w
	})
	h.now = func() time.Time { return at }
	return h, &at, &n
}

func refused(tid uint32, op gate.Op) *gate.Refusal {
	return &gate.Refusal{Reason: gate.ReasonHeldByOther, Op: op, Worktree: "b", Caller: process.Caller{TID: tid},
		Holder: lease.Holder{Host: "build7", User: "ci", PID: 4242}, Token: 12, Left: 17 * time.Second}
}

func at(id lease.WorktreeID) string { return "/srv/repo/worktrees/" + string(id) }

func everything() Query { return Query{Limit: 1000} }

func TestRefusalsAlikeAreCountedTogetherForASecond(t *testing.T) {
	h, now, looked := handHistory(map[uint32]Writer{7: {ID: process.ID{PID: 7, Start: 1}, command: "make"}})
	for range 3 {
		h.note(refused(7, gate.OpOpen))
		*now = now.Add(300 * time.Millisecond)
	}
	h.note(refused(7, gate.OpMkdir))
	require.Equal(t, 2, *looked, "only the first of a kind is looked up")
	*now = now.Add(time.Second)
	h.note(refused(7, gate.OpOpen))

	views, complete := h.recent(everything(), at)
	require.True(t, complete)
	require.Len(t, views, 3)
	require.Equal(t, []any{"Open", uint64(3), "Mkdir", uint64(1), "Open", uint64(1)},
		[]any{views[0].Op, views[0].Count, views[1].Op, views[1].Count, views[2].Op, views[2].Count})
	v := views[0]
	require.Equal(t, []any{"make", 7, "b", "E_LOCK_CONFLICT"}, []any{v.Command, v.PID, v.Worktree, v.Class})
	require.Contains(t, v.Sentence, "build7:ci:4242")
	require.Contains(t, v.Sentence, "17s left")
	require.Contains(t, v.Next, "jvsfs lock acquire --wait 1m /srv/repo/worktrees/b")

	late, _ := h.recent(Query{Limit: 10, Since: now.Add(-time.Millisecond)}, at)
	require.Len(t, late, 1)
}

// A flood of one writer keeps to its part of the memory, and says that it was one.
func TestTheHistoryIsBounded(t *testing.T) {
	h, now, _ := handHistory(nil)
	h.note(refused(1, gate.OpOpen))
	for range 10 * historyDepth {
		*now = now.Add(api.AlikeWithin)
		h.note(refused(2, gate.OpOpen))
	}
	views, complete := h.recent(everything(), at)
	require.Len(t, views, historyDepth+1, "what the first was refused is still known")
	require.False(t, complete)
	_, complete = h.recent(Query{Limit: 1000, Since: now.Add(-time.Second)}, at)
	require.True(t, complete, "nothing of the last second was lost")
	views, complete = h.recent(Query{Limit: 5}, at)
	require.Len(t, views, 5)
	require.False(t, complete)
	require.Equal(t, now.UTC(), views[4].At, "the latest are kept")
	for i := range h.shards {
		require.LessOrEqual(t, len(h.shards[i].growing), historyDepth)
	}
}

func TestRefusalsOfOthersAreNotShown(t *testing.T) {
	h, _, _ := handHistory(nil)
	for _, uid := range []uint32{0, 1000, 1001} {
		no := refused(100+uid, gate.OpOpen)
		no.Caller.UID = uid
		h.note(no)
	}
	seen := func(uid uint32) (uids []uint32) {
		views, _ := h.recent(Query{UID: uid, Limit: 10}, at)
		for _, v := range views {
			uids = append(uids, v.UID)
		}
		return uids
	}
	require.Len(t, seen(0), 3)
	require.Equal(t, []uint32{1000}, seen(1000))
	require.Empty(t, seen(1002))
}

// The threads of a process are one writer.
func TestRefusalsOfThreadsAreOneView(t *testing.T) {
	h, now, _ := handHistory(map[uint32]Writer{7: {ID: process.ID{PID: 7, Start: 1}}, 8: {ID: process.ID{PID: 7, Start: 1}}, 9: {ID: process.ID{PID: 9, Start: 1}}})
	for _, tid := range []uint32{7, 8, 9, 8} {
		h.note(refused(tid, gate.OpOpen))
		*now = now.Add(time.Millisecond)
	}
	views, _ := h.recent(everything(), at)
	require.Len(t, views, 2)
	require.Equal(t, []any{9, uint64(1), 7, uint64(3)}, []any{views[0].PID, views[0].Count, views[1].PID, views[1].Count})
}

func TestRefusalsAreFoundByTheProcessThatAsks(t *testing.T) {
	w := Writer{ID: process.ID{PID: 50, Start: 500}, group: 40, session: 10, sessionStart: 100, above: []process.ID{{PID: 49, Start: 490}, {PID: 48, Start: 480}}}
	for p, want := range map[process.ID]bool{
		{PID: 50, Start: 500}: true, {PID: 50, Start: 501}: false, {PID: 50, Start: 0}: true, // itself; a later process of its number; its number alone
		{PID: 48, Start: 480}: true, {PID: 48, Start: 481}: false, // an ancestor
		{PID: 40, Start: 7}:   true, // led its process group
		{PID: 10, Start: 100}: false, {PID: 1, Start: 1}: false,
	} {
		require.Equal(t, want, w.Below(p), "%v", p)
	}
	for id, want := range map[process.Identity]bool{
		{Session: 10, SessionStart: 100}: true, {Session: 10, SessionStart: 101}: false,
		{Session: 10}: true, {Session: 11}: false, {}: false,
	} {
		require.Equal(t, want, w.InSessionOf(id), "%v", id)
	}
	require.False(t, Writer{}.InSessionOf(process.Identity{}), "who is not seen is in nobody's session")
}

// What is read of a living process is enough to find it by when it has ended.
func TestWriterIsLookedAt(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	defer func() { require.NoError(t, cmd.Process.Kill()); _ = cmd.Wait() }()
	r := gate.NewResolver(lease.SystemClock())
	defer r.Close()
	require.Eventually(t, func() bool {
		return newWitness(r).look(process.Caller{TID: uint32(cmd.Process.Pid)}).command == "sleep"
	}, time.Minute, time.Millisecond)
	w := newWitness(r).look(process.Caller{TID: uint32(cmd.Process.Pid), UID: 3})
	own, err := process.ReadStat(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, process.ID{PID: os.Getpid(), Start: own.Start}, w.above[0])
	self, err := r.Identify(process.Caller{TID: uint32(os.Getpid())}) // its session may have been made outside of this pid namespace
	require.NoError(t, err)
	require.Equal(t, []any{cmd.Process.Pid, self.Session, own.Group, uint32(3)}, []any{w.PID, w.session, w.group, w.uid})
	require.Equal(t, Writer{uid: 5}, newWitness(r).look(process.Caller{UID: 5}), "of one that is not seen only the user is known")
}

// Advice is filled in only where it can be pasted into a shell as it is.
func TestAdviceIsFilledInOnlyWhereItCanBePasted(t *testing.T) {
	const next = "jvsfs lock acquire <worktree>"
	require.Equal(t, "jvsfs lock acquire /srv/a-b_c", nextAt(next, "/srv/a-b_c"))
	for _, path := range []string{"", "/srv/a b", "/srv/$(reboot)", "/srv/a;b", "/srv/a\nb", "/srv/'"} {
		require.Equal(t, next, nextAt(next, path))
	}
}

// BenchmarkRefusalAgain is what a refusal like one a moment ago costs beyond the check.
func BenchmarkRefusalAgain(b *testing.B) {
	h := newHistory(func(process.Caller) Writer { return Writer{} })
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		no := refused(uint32(time.Now().UnixNano()), gate.OpWrite)
		for pb.Next() {
			h.note(no)
		}
	})
}

// BenchmarkRefusalFirst is what the first of a kind costs.
func BenchmarkRefusalFirst(b *testing.B) {
	r := gate.NewResolver(lease.SystemClock())
	defer r.Close()
	h := newHistory(newWitness(r).look)
	no := refused(uint32(os.Getpid()), gate.OpWrite)
	now := time.Unix(0, 0)
	h.now = func() time.Time { now = now.Add(api.AlikeWithin); return now }
	for b.Loop() {
		h.note(no)
	}
}
