package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/stretchr/testify/require"
)

// repository makes a repository with main, mounted nowhere.
func repository(t *testing.T) (main, locks string) {
	root := tree(t, "repo/.jvs", "repo/main")
	return filepath.Join(root, "repo/main"), filepath.Join(root, "repo/.jvs/locks")
}

func TestLockWithoutMount(t *testing.T) {
	main, locks := repository(t)
	me := strconv.Itoa(os.Getpid())
	code, out, errs := command("lock", "acquire", "--json", "--pid", me, "--purpose", "tests", main)
	require.Equal(t, exitOK, code, errs)
	rec := new(lease.Record)
	require.NoError(t, json.Unmarshal([]byte(out), rec))
	require.Equal(t, lease.Token(1), rec.FencingToken)
	require.Equal(t, os.Getpid(), rec.Holder().PID)
	require.Contains(t, errs, "no mount fences")

	code, out, _ = command("lock", "acquire", "--json", "--pid", me, main)
	require.Equal(t, exitOK, code, "the holder may acquire again")
	require.Contains(t, out, `"fencing_token": 1,`)

	code, _, errs = command("lock", "renew", main)
	require.Equal(t, exitOK, code, errs)
	code, out, _ = command("explain", main+"/f")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "nothing fences writes there; the record of worktree main is held")

	code, _, errs = command("lock", "release", main)
	require.Equal(t, exitOK, code, errs)
	require.NoFileExists(t, filepath.Join(locks, "main.lock"))
	code, _, _ = command("lock", "release", main)
	require.Equal(t, exitNotHeld, code)

	code, out, _ = command("lock", "acquire", "--json", "--pid", me, main)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, `"fencing_token": 2,`, "tokens grow over release")
}

func TestLockOfAnotherProcess(t *testing.T) {
	main, _ := repository(t)
	other := exec.Command("sleep", "60")
	require.NoError(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	pid := strconv.Itoa(other.Process.Pid)
	code, _, errs := command("lock", "acquire", "--pid", pid, main)
	require.Equal(t, exitOK, code, errs)

	code, out, errs := command("lock", "acquire", "--json", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, exitConflict, code)
	require.Contains(t, errs, "E_LOCK_CONFLICT")
	require.Contains(t, out, `"pid": `+pid)
	require.NotContains(t, out+errs, "nonce")

	code, _, _ = command("lock", "renew", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, exitNotHeld, code, "a process that is not in the scope, named on purpose, root or not")
	code, _, errs = command("lock", "release", "--pid", pid, main)
	require.Equal(t, exitOK, code, errs)
}

func TestLockStatusMakesNothing(t *testing.T) {
	main, locks := repository(t)
	code, out, _ := command("lock", "status", main)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "free")
	require.NoDirExists(t, locks)
}

func TestUnreadableRecordIsNoYes(t *testing.T) {
	main, locks := repository(t)
	require.NoError(t, os.Mkdir(locks, 0o700))
	name := claimName(locks, "main", 3)
	require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	me := strconv.Itoa(os.Getpid())
	for _, args := range [][]string{{"acquire", "--pid", me}, {"release"}, {"steal", "--pid", me}} {
		code, _, errs := command(append(append([]string{"lock"}, args...), main)...)
		require.Equal(t, exitStore, code, "%v: %s", args, errs)
	}
	require.FileExists(t, name)
	code, out, _ := command("doctor", main)
	require.Equal(t, exitError, code)
	require.Contains(t, out, "fail  records")
}

func TestClaimRenewCountsOnlyInTime(t *testing.T) {
	main, locks := repository(t)
	code, _, _ := command("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, exitOK, code)
	dir, err := lease.OpenDir(locks)
	require.NoError(t, err)
	defer dir.Close() //nolint:errcheck // only read from
	head, err := dir.Store("main").Head()
	require.NoError(t, err)
	at := head.Record.ExpiresAt()

	open := func() *claimFile {
		c, err := openClaim(locks, "main", head)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.file.Close() })
		return c
	}
	late := asFailure(open().renew(func() time.Time { return at.Add(time.Second) }))
	require.Equal(t, exitExpired, late.exit())
	times := []time.Time{at.Add(-time.Second), at.Add(time.Second)} // the disk was slow
	late = asFailure(open().renew(func() time.Time { now := times[0]; times = times[1:]; return now }))
	require.Equal(t, exitExpired, late.exit())

	require.NoError(t, os.WriteFile(claimName(locks, "main", 2), nil, 0o600))
	c := open()
	require.True(t, c.superseded())
	robbed := asFailure(c.renew(func() time.Time { return at.Add(-time.Second) }))
	require.Equal(t, exitNotHeld, robbed.exit())

	stranger := head
	other := *head.Record
	other.HolderNonce = "another"
	stranger.Record = &other
	_, err = openClaim(locks, "main", stranger)
	require.Equal(t, exitNotHeld, asFailure(err).exit())
}

func TestWithdrawPutsASuccessorsViewBack(t *testing.T) {
	main, locks := repository(t)
	code, _, _ := command("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, exitOK, code)
	dir, err := lease.OpenDir(locks)
	require.NoError(t, err)
	defer dir.Close() //nolint:errcheck // only read from
	head, err := dir.Store("main").Head()
	require.NoError(t, err)
	c, err := openClaim(locks, "main", head)
	require.NoError(t, err)
	defer c.file.Close() //nolint:errcheck // a test

	view := filepath.Join(locks, "main.lock")
	require.NoError(t, os.Remove(view))
	require.NoError(t, os.WriteFile(view, []byte("successor"), 0o600))
	require.NoError(t, c.withdraw())
	raw, err := os.ReadFile(view)
	require.NoError(t, err)
	require.Equal(t, "successor", string(raw))
	left, err := filepath.Glob(filepath.Join(locks, "*.tmp.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDoctorFindsWhatIsWrongWithALockDirectory(t *testing.T) {
	main, locks := repository(t)
	require.NoError(t, os.Mkdir(locks, 0o755))
	tmp := filepath.Join(locks, "main.lock.tmp.x")
	require.NoError(t, os.WriteFile(tmp, nil, 0o600))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(tmp, old, old))
	code, out, _ := command("doctor", main)
	require.Equal(t, exitError, code)
	require.Contains(t, out, "has mode 0755")
	require.Contains(t, out, "left of a command that was interrupted")
	require.Equal(t, 1, strings.Count(out, "leftovers"))
}

func TestExecWithoutMount(t *testing.T) {
	main, _ := repository(t)
	out := filepath.Join(main, "out")
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"success":        {[]string{"sh", "-c", "echo x > " + out}, 0},
		"its exit code":  {[]string{"sh", "-c", "exit 7"}, 7},
		"its signal":     {[]string{"sh", "-c", "kill -TERM $$"}, 143},
		"not found":      {[]string{"no-such-command"}, exitNotFound},
		"not executable": {[]string{main}, exitNotRun},
	} {
		code, _, errs := command(append([]string{"exec", main, "--"}, c.args...)...)
		require.Equal(t, c.code, code, "%s: %s", name, errs)
		code, status, _ := command("lock", "status", main)
		require.Equal(t, exitOK, code)
		require.Contains(t, status, "it was released", name)
	}
	require.FileExists(t, out)
}

func TestExecHoldsTheLeaseForItsCommand(t *testing.T) {
	main, _ := repository(t)
	code, out, errs := command("exec", "--purpose", "inner", main, "--", "sh", "-c",
		"/proc/"+strconv.Itoa(os.Getpid())+"/exe lock status --json "+main+"; echo pid $$")
	require.Equal(t, exitOK, code, errs)
	status, pid, _ := strings.Cut(out, "pid ")
	var st lockStatus
	require.NoError(t, json.Unmarshal([]byte(status), &st))
	require.Equal(t, "held", st.State)
	require.Equal(t, strings.TrimSpace(pid), strconv.Itoa(recordOf(st.Record).Holder().PID), "the lease is bound to CMD itself")
}
