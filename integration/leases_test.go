package integration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"os"

	"github.com/stretchr/testify/require"
)

// Exit codes that the command line promises.
const (
	exitConflict = 10
	exitNotHeld  = 12
	exitDead     = 16
	exitBusy     = 17
)

// acquire takes the lease of a worktree (a path relative to the mount) for an
// actor, on purpose, and returns its record.
func (m *mount) acquire(a *actor, worktree ...string) record {
	m.t.Helper()
	return m.lock("acquire", a, worktree...)
}

// lock runs jvsfs lock VERB for an actor; it must succeed.
func (m *mount) lock(verb string, a *actor, worktree ...string) record {
	m.t.Helper()
	out := m.cliOK(lockArgs(verb, a, m.At(worktree...))...)
	var r record
	require.NoError(m.t, json.Unmarshal([]byte(out), &r), "lock %s --json printed %q", verb, out)
	return r
}

// tryLock is lock for what may fail: it returns the exit code.
func (m *mount) tryLock(verb string, a *actor, worktree ...string) (exit int, errs string) {
	m.t.Helper()
	out, errs, exit := m.CLI(lockArgs(verb, a, m.At(worktree...))...)
	return exit, out + errs
}

func lockArgs(verb string, a *actor, path string) []string {
	args := []string{"lock", verb, "--json", "--pid", strconv.Itoa(a.pid()), path}
	if verb == "steal" {
		args = append(args, "--yes")
	}
	return args
}

func pidOf(a *actor) string { return strconv.Itoa(a.pid()) }

// release gives the lease back.
func (m *mount) release(a *actor, worktree ...string) {
	m.t.Helper()
	exit, errs := m.tryLock("release", a, worktree...)
	require.Zero(m.t, exit, "lock release: %s%s", errs, m.logTail())
}

// steal takes over, as soon as it is allowed.
func (m *mount) steal(a *actor, worktree ...string) {
	m.t.Helper()
	eventuallyNoted(m.t, a.name+" steals the lease", func() (bool, string) {
		exit, errs := m.tryLock("steal", a, worktree...)
		return exit == 0, fmt.Sprintf("exit %d: %s", exit, errs)
	})
}

var claimName = regexp.MustCompile(`^(.+)\.claim\.(\d{20})$`)

// headClaim is the file of a worktree's highest claim in the lock directory
// and what it says. id "" is for mounts with a single worktree.
func (m *mount) headClaim(id string) (string, record) {
	m.t.Helper()
	var claims []string
	err := filepath.WalkDir(m.LockDir, func(path string, d fs.DirEntry, err error) error {
		if notTaken(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if parts := claimName.FindStringSubmatch(d.Name()); parts != nil && (id == "" || parts[1] == id) {
			claims = append(claims, path)
		}
		return nil
	})
	require.NoError(m.t, err)
	require.NotEmpty(m.t, claims, "no claim below %s", m.LockDir)
	// Names of one worktree differ in twenty digits only.
	head := slices.Max(claims)
	text, err := os.ReadFile(head)
	require.NoError(m.t, err)
	var r record
	require.NoError(m.t, json.Unmarshal(text, &r), "%s: %q", head, text)
	return head, r
}

// awaitStealable waits until the head's record, which nobody renews any more,
// has expired and skew and grace are over.
func (m *mount) awaitStealable(id string) {
	m.t.Helper()
	eventuallyNoted(m.t, "the lease may be stolen", func() (bool, string) {
		_, r := m.headClaim(id)
		end := r.ExpiresAt.Add(m.opts.policy.skew + m.opts.policy.grace)
		return time.Now().After(end), fmt.Sprintf("until %s", end)
	})
}
