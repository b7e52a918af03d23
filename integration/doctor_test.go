package integration

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// worktreeStatus is what status --json says of one worktree (a part of it).
type worktreeStatus struct {
	Worktree, State, Mode, Enforce, File, Detail string
	OnFree                                       string `json:"on_free"`
	Token                                        uint64 `json:"fencing_token"`
	HolderID                                     string `json:"holder_id"`
	Writes, Refusals                             uint64
	WouldRefuse                                  uint64 `json:"would_refuse"`
	Revoked                                      int
	Auto                                         bool
	WriteHandles                                 int64    `json:"write_handles"`
	LastRefusals                                 []string `json:"last_refusals"`
}

// worktreeStatus asks status --json about a worktree of this mount; others may
// be mounted, too.
func (m *mount) worktreeStatus(id string) worktreeStatus {
	m.t.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint, Source, State string
			Worktrees                 []worktreeStatus
		}
	}
	require.NoError(m.t, json.Unmarshal([]byte(m.cliOK("status", "--json")), &all))
	for _, one := range all.Mounts {
		if one.Mountpoint != m.Mountpoint {
			continue
		}
		require.Equal(m.t, "serving", one.State)
		for _, w := range one.Worktrees {
			if w.Worktree == id {
				return w
			}
		}
	}
	m.t.Fatalf("status does not show worktree %s of %s: %+v", id, m.Mountpoint, all)
	return worktreeStatus{}
}

// explanation is what explain --json says (a part of it).
type explanation struct {
	Worktree, Path, Class, Errno, Sentence, Next, Mountpoint string
	PID                                                      int
	Allowed, Mounted                                         bool
	WouldRefuse                                              bool `json:"would_refuse"`
	Holder                                                   *struct {
		ID        string `json:"holder_id"`
		Scope     string
		Token     uint64    `json:"fencing_token"`
		Since     time.Time `json:"since"`
		ExpiresAt time.Time `json:"lease_expires_at"`
	}
	Status worktreeStatus
}

func (m *mount) explain(pid int, path string) (x explanation, exit int) {
	m.t.Helper()
	out, errs, exit := m.CLI("explain", "--json", "--pid", strconv.Itoa(pid), path)
	require.NoError(m.t, json.Unmarshal([]byte(out), &x), "%s%s", out, errs)
	return x, exit
}

type finding struct{ ID, Check, Severity, Message, Why, Fix string }

type findings []finding

// of are the findings with an id that mention a text.
func (f findings) of(id, text string) findings {
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool {
		return one.ID != id || !strings.Contains(one.Message, text)
	})
}

// about are the findings of one check that mention a text.
func (f findings) about(check, text string) findings {
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool {
		return one.Check != check || !strings.Contains(one.Message, text)
	})
}

func (m *mount) doctor(options ...string) (all findings, ok bool, exit int) {
	m.t.Helper()
	out, errs, exit := m.CLI(append([]string{"doctor", "--json"}, options...)...)
	all, ok = readDoctor(m.t, out+errs)
	return all, ok, exit
}

func readDoctor(t testing.TB, text string) (all findings, ok bool) {
	t.Helper()
	var report struct {
		OK       bool
		Findings findings
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report), "%s", text)
	for _, f := range report.Findings {
		require.Equal(t, f.Severity == "ok", f.Why == "", "%+v", f)
		require.True(t, strings.HasPrefix(f.ID, f.Check+"."), "%+v", f)
	}
	return report.Findings, report.OK
}

func TestExplain(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	x, exit := m.explain(a.pid(), m.At("f"))
	require.Equal(t, exitNotHeld, exit)
	require.False(t, x.Allowed)
	require.Equal(t, "E_LOCK_NOT_HELD", x.Class)
	require.Contains(t, x.Next, "jvsfs lock acquire "+m.Mountpoint)
	require.Nil(t, x.Holder)

	r := m.acquire(a)
	x, exit = m.explain(a.pid(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.Empty(t, x.Class)
	require.Equal(t, []any{"source", m.At("f"), m.Mountpoint, a.pid(), true}, []any{x.Worktree, x.Path, x.Mountpoint, x.PID, x.Mounted})
	x, exit = m.explain(b.pid(), m.At("not/there/yet"))
	require.Equal(t, exitConflict, exit)
	require.False(t, x.Allowed)
	require.Equal(t, []string{"E_LOCK_CONFLICT", "EROFS"}, []string{x.Class, x.Errno})
	require.Contains(t, x.Sentence, r.HolderID)
	require.NotEmpty(t, x.Next)
	require.Equal(t, []any{r.HolderID, "tree", r.token(t)}, []any{x.Holder.ID, x.Holder.Scope, x.Holder.Token})
	require.WithinDuration(t, r.ExpiresAt, x.Holder.ExpiresAt, patience)

	out, _, exit := m.CLI("explain", "--pid", strconv.Itoa(b.pid()), m.At("f"))
	require.Equal(t, exitConflict, exit)
	require.Regexp(t, `(?s)^\S+/mnt/f: a write by process \d+ would be refused with EROFS \(E_LOCK_CONFLICT\)\n.*holder: \S+, scope tree, token 1, until .* left\)\n  next: `, out)
	out = m.cliOK("explain", "--pid", strconv.Itoa(a.pid()), m.At("f"))
	require.Contains(t, out, "would pass")
	_, said := a.run("/", "", m.bin+" explain "+m.At("f"))
	require.Contains(t, said, "would pass", "without --pid it is about the caller")
	// Asking is no attempt.
	require.Zero(t, m.worktreeStatus("source").Refusals)
	b.fails(m.put("f"), "EROFS")
	st := m.worktreeStatus("source")
	require.NotZero(t, st.Refusals)
	require.Contains(t, strings.Join(st.LastRefusals, "\n"), "E_LOCK_CONFLICT")
}

func TestExplainOnFreeAndElsewhere(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	a := startActor(t, "a")
	x, exit := m.explain(a.pid(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.Contains(t, x.Sentence, "would take it")
	require.Zero(t, m.worktreeStatus("source").Token, "asking takes nothing")
	x, exit = m.explain(a.pid(), m.base)
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.False(t, x.Mounted)
	require.Contains(t, x.Sentence, "no jvsfs mount")
}

// doctor knows a healthy mount, and tells by ok and exit code what its
// findings say. Findings about other people's mounts are theirs.
func TestDoctor(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "a")
	m.acquire(a)
	for _, options := range [][]string{nil, {"--strict"}} {
		all, ok, exit := m.doctor(options...)
		bad := slices.ContainsFunc(all, func(f finding) bool {
			return f.Severity == "fail" || options != nil && f.Severity == "warn"
		})
		require.Equal(t, !bad, ok, "%v: %+v", options, all)
		require.Equal(t, !bad, exit == 0)
		for _, f := range all {
			require.Contains(t, []string{"ok", "warn", "fail"}, f.Severity)
			require.NotEmpty(t, f.Message)
			require.True(t, f.Severity == "ok" || f.Fix != "" || f.Check == "tier", "%+v", f)
		}
		for _, want := range [][2]string{{"mounts", m.Mountpoint + " serves " + m.Source}, {"records", "worktree source: held by "}, {"locks", "is private"}} {
			found := all.about(want[0], want[1])
			require.NotEmpty(t, found, "%v in %+v", want, all)
			require.Equal(t, "ok", found[0].Severity)
		}
		require.NotEmpty(t, all.about("clock", ""))
		require.NotEmpty(t, all.about("kernel", ""))
		require.NotEmpty(t, all.of("kernel.fuse", m.Mountpoint+" speaks FUSE 7."))
	}
	require.Contains(t, m.cliOK("lock", "status", m.Mountpoint), "held")

	// An unclean end is a warning, which --strict counts.
	a.stop()
	m.awaitStealable("")
	eventually(t, "doctor warns of the lease that nobody released", func() bool {
		all, _, _ := m.doctor("--strict")
		found := all.about("records", "was not released")
		return len(found) == 1 && found[0].Severity == "warn"
	})
	_, ok, exit := m.doctor("--strict")
	require.False(t, ok)
	require.Equal(t, 1, exit)
	a.resume()
}

// doctor finds who bypasses a mount in place, and a lock directory that others
// may read.
func TestDoctorFindsBypass(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	early := startActor(t, "early")
	early.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	m.mount()
	all, _, _ := m.doctor()
	found := all.about("bypass", "process "+strconv.Itoa(early.pid())+" ")
	require.Len(t, found, 1, "%+v", all)
	require.Contains(t, found[0].Message, m.At("f"))
	require.Equal(t, "warn", found[0].Severity)
	require.NoError(t, unix.Chmod(m.LockDir, 0o755))
	all, ok, exit := m.doctor()
	require.Len(t, all.about("locks", "secrets"), 1)
	require.False(t, ok)
	require.Equal(t, 1, exit)
	early.ok(command{Op: "close", Handle: "f"})
	all, _, _ = m.doctor()
	require.Empty(t, all.about("bypass", "process "+strconv.Itoa(early.pid())+" "))
}
