package harness

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Acquire takes the lease of a worktree (a path relative to the mount) for an
// actor, on purpose, and returns its record.
func (m *Mount) Acquire(a *Actor, worktree ...string) Record {
	m.T.Helper()
	return m.lock("acquire", a, worktree...)
}

// lock runs jvsfs lock VERB for an actor; it must succeed.
func (m *Mount) lock(verb string, a *Actor, worktree ...string) Record {
	m.T.Helper()
	out := m.MustCLI(LockArgs(verb, a, m.At(worktree...))...)
	var r Record
	require.NoError(m.T, json.Unmarshal([]byte(out), &r), "lock %s --json printed %q", verb, out)
	return r
}

// TryLock is lock that may fail: it returns the exit code.
func (m *Mount) TryLock(verb string, a *Actor, worktree ...string) (exit int, errs string) {
	m.T.Helper()
	out, errs, exit := m.CLI(LockArgs(verb, a, m.At(worktree...))...)
	return exit, out + errs
}

// LockArgs is the command line of a lock command for an actor.
func LockArgs(verb string, a *Actor, path string) []string {
	args := []string{"lock", verb, "--json", "--pid", strconv.Itoa(a.PID()), path}
	if verb == "steal" {
		args = append(args, "--yes")
	}
	return args
}

// PIDOf is an actor's process as an argument.
func PIDOf(a *Actor) string { return strconv.Itoa(a.PID()) }

// Release gives the lease back.
func (m *Mount) Release(a *Actor, worktree ...string) {
	m.T.Helper()
	exit, errs := m.TryLock("release", a, worktree...)
	require.Zero(m.T, exit, "lock release: %s%s", errs, m.LogTail())
}

// Steal takes over, as soon as it is allowed.
func (m *Mount) Steal(a *Actor, worktree ...string) {
	m.T.Helper()
	EventuallyNoted(m.T, a.Name+" steals the lease", func() (bool, string) {
		exit, errs := m.TryLock("steal", a, worktree...)
		return exit == 0, fmt.Sprintf("exit %d: %s", exit, errs)
	})
}

// ClaimName is the name of a claim: the worktree and the token.
var ClaimName = regexp.MustCompile(`^(.+)\.claim\.(\d{20})$`)

// HeadClaim is the file of a worktree's highest claim in the lock directory, and its content. id "" is for
// mounts with a single worktree.
func (m *Mount) HeadClaim(id string) (string, Record) {
	m.T.Helper()
	var claims []string
	err := filepath.WalkDir(m.LockDir, func(path string, d fs.DirEntry, err error) error {
		if notTaken(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if parts := ClaimName.FindStringSubmatch(d.Name()); parts != nil && (id == "" || parts[1] == id) {
			claims = append(claims, path)
		}
		return nil
	})
	require.NoError(m.T, err)
	require.NotEmpty(m.T, claims, "no claim below %s", m.LockDir)
	// Names of one worktree differ in twenty digits only.
	head := slices.Max(claims)
	text, err := os.ReadFile(head)
	require.NoError(m.T, err)
	var r Record
	require.NoError(m.T, json.Unmarshal(text, &r), "%s: %q", head, text)
	return head, r
}

// AwaitStealable waits until the head's record, which nobody renews any more,
// has expired and skew and grace are over.
func (m *Mount) AwaitStealable(id string) {
	m.T.Helper()
	EventuallyNoted(m.T, "the lease may be stolen", func() (bool, string) {
		_, r := m.HeadClaim(id)
		end := r.ExpiresAt.Add(m.Opts.Policy.skew + m.Opts.Policy.grace)
		return time.Now().After(end), fmt.Sprintf("until %s", end)
	})
}

// LetExpire makes a lease end by itself, though its holder and its daemon run: its claim is aside until then, so
// it cannot be renewed. Afterwards it may be stolen.
func (m *Mount) LetExpire(worktree ...string) {
	m.T.Helper()
	expired := func() int { return m.EventTypes(m.At(worktree...))["lock_expire"] }
	before := expired()
	claim, _ := m.HeadClaim("")
	require.NoError(m.T, os.Rename(claim, claim+".aside"))
	Eventually(m.T, "the lease has expired", func() bool { return expired() > before })
	require.NoError(m.T, os.Rename(claim+".aside", claim))
	m.AwaitStealable("")
}

// Encoded is a record as a file has it.
func Encoded(fields map[string]any) string {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // made of what was decoded
	}
	return string(text)
}

// With spoils a record in one field.
func With(name string, value any) func(map[string]any, string) string {
	return func(fields map[string]any, _ string) string {
		fields[name] = value
		return Encoded(fields)
	}
}

// SpoilHead replaces the head's record and returns its file. The file keeps
// its name; it is written as a torn write of another host would be.
func (m *Mount) SpoilHead(spoil func(map[string]any, string) string) (file, text string) {
	m.T.Helper()
	file, _ = m.HeadClaim("")
	good := ReadText(m.T, file)
	var fields map[string]any
	require.NoError(m.T, json.Unmarshal([]byte(good), &fields))
	text = spoil(fields, good)
	require.NoError(m.T, os.WriteFile(file, []byte(text), 0o600))
	return file, text
}

// Record is what the tests need of a lease record (locking spec v6.3).
type Record struct {
	HolderID     string      `json:"holder_id"`
	Token        json.Number `json:"fencing_token"`
	ExpiresAt    time.Time   `json:"lease_expires_at"`
	RenewedAt    time.Time   `json:"last_renewed_at"`
	SkewMS       int64       `json:"max_clock_skew_ms"`
	StealGraceMS int64       `json:"steal_grace_ms"`
	AcquireSeq   uint64      `json:"acquire_seq"`
	Released     bool        `json:"released"`
}

// End is the first moment at which anybody may steal, if nobody renews.
func (r Record) End() time.Time {
	return r.ExpiresAt.Add(time.Duration(r.SkewMS+r.StealGraceMS) * time.Millisecond)
}

// TokenNumber is the record's number; tokens order as numbers, not as text.
func (r Record) TokenNumber(t testing.TB) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.Token.String(), 10, 64)
	require.NoError(t, err)
	return n
}
