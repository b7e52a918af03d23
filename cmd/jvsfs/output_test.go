package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func configOf(t *testing.T, source string) mountcfg.Config {
	t.Helper()
	cfg := mountcfg.Default()
	require.NoError(t, cfg.Set("source", source, mountcfg.WhereArgument))
	return cfg
}

func sampleRecord() *lease.Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &lease.Record{
		LockID: "l", WorktreeID: "main", HolderID: "h:u:5:9", HolderNonce: "secret", SessionID: "s", UID: 1000,
		FencingToken: 4, Scope: "tree", Purpose: "tests\x1b[2J", CreatedAt: at, LastRenewedAt: at, LeaseExpiresAt: at.Add(30 * time.Second),
		LeaseDurationMS: 30000, RenewIntervalMS: 10000, MaxClockSkewMS: 2000, StealGraceMS: 1000,
	}
}

func TestExitCodesAreAPromise(t *testing.T) {
	for class, code := range map[lease.Class]int{
		"E_LOCK_CONFLICT": 10, "E_LOCK_EXPIRED": 11, "E_LOCK_NOT_HELD": 12, "E_FENCING_MISMATCH": 13,
		"E_CLOCK_SKEW_EXCEEDED": 14, "E_RECORD_UNREADABLE": 15, "E_STORE_FAILED": 15, "E_AUDIT_FAILED": 15,
		"E_BAD_WORKTREE_ID": 2, "E_NO_MOUNT": 16, "E_MOUNT_BUSY": 17, "E_USAGE": 2, "E_NOT_PERMITTED": 1, "": 1,
	} {
		require.Equal(t, code, exitCodeOf(class), class)
	}
}

func TestAsFailure(t *testing.T) {
	require.Nil(t, asFailure(nil))
	le := &lease.Error{Class: "E_LOCK_CONFLICT", File: "/f", Holder: sampleRecord(), Message: "held", Next: "wait", Err: errors.New("cause")}
	f := asFailure(fmt.Errorf("around: %w", le))
	require.Equal(t, exitConflict, f.exit())
	require.Equal(t, "held: cause", f.Message)
	require.Equal(t, "h:u:5:9", f.Holder.HolderID)
	require.Equal(t, lease.Token(4), f.Holder.FencingToken)
	require.Equal(t, exitUsage, asFailure(errors.Join(nil, usagef("x"))).exit())
	require.Equal(t, 130, asFailure(context.Canceled).exit())
	require.Equal(t, exitError, asFailure(errors.New("x")).exit())
}

func TestFailuresNeverShowTheNonce(t *testing.T) {
	f := asFailure(&lease.Error{Class: "E_LOCK_CONFLICT", Holder: sampleRecord(), Message: "held"})
	var out, errs bytes.Buffer
	printFailure(&out, &errs, f, true)
	require.NotContains(t, out.String()+errs.String(), "secret")
	require.NotContains(t, errs.String(), "\x1b")
	var v map[string]map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &v))
	require.Equal(t, "E_LOCK_CONFLICT", v["error"]["class"])
	require.Contains(t, errs.String(), "jvsfs: E_LOCK_CONFLICT: held (holder h:u:5:9")
}

func TestFailureText(t *testing.T) {
	text := failureText(&failure{Class: "E_MOUNT_BUSY", Message: "busy", File: "/f", Next: "end them",
		Busy: []busyEntry{{PID: 5, Command: "vi", Use: "cwd", Path: "/r/main"}}})
	require.Equal(t, "jvsfs: E_MOUNT_BUSY: busy (file /f)\nPID  COMMAND  USE  PATH\n5    vi       cwd  /r/main\nnext: end them\n", text)
	text = failureText(&failure{Message: "open /a\x1b[2J:\n    2 | x", File: "/f\x1b", Next: "end \x1b", Busy: []busyEntry{{Command: "vi\x1b", Path: "/r\nnext: y"}}})
	require.Equal(t, "jvsfs: open /a?[2J:\n    2 | x (file /f?)\nPID  COMMAND  USE  PATH\n0    vi?           /r?next: y\nnext: end ?\n", text)
	var out bytes.Buffer
	printFailure(&out, &out, exitWith(7), true)
	require.Empty(t, out.String())
}

func TestRecordIsRedactedForOthers(t *testing.T) {
	for uid, shown := range map[uint32]bool{0: true, 1000: true, 1001: false} {
		raw, err := recordJSON(sampleRecord(), uid)
		require.NoError(t, err)
		require.Equal(t, shown, bytes.Contains(raw, []byte("secret")), uid)
		rec := recordOf(raw)
		require.NotNil(t, rec, "a client reads the record with or without the nonce")
		require.Equal(t, lease.Token(4), rec.FencingToken)
	}
}

func TestStatusText(t *testing.T) {
	require.Equal(t, "no jvsfs mounts\n", statusText(nil, time.Now()))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := now.Add(12 * time.Second)
	text := statusText([]mountStatus{
		{Mountpoint: "/m", Source: "/s", State: "serving", PID: 9, enforceStatus: enforceStatus{Enforce: "enforce"}, Local: true, Worktrees: []gate.Status{
			{Worktree: "main", State: "held", Token: 3, HolderID: "h:u:1:2", Purpose: "build", ExpiresAt: &until, Writes: 5, Refusals: 2},
			{Worktree: "a", State: "free"},
		}},
		{Mountpoint: "/d", State: "dead", Detail: "no answer"},
	}, now)
	require.Equal(t, `/m  serving  source /s  pid 9  enforce  fence local to this machine
  WORKTREE  STATE  TOKEN  HOLDER           LEFT  WRITES  REFUSED  WOULD REFUSE
  main      held   3      h:u:1:2 (build)  12s   5       2        0
  a         free   0      -                -     0       0        0

/d  dead
  no answer
`, text)
}

func TestExplanationText(t *testing.T) {
	now := time.Now()
	until := now.Add(3 * time.Second)
	x := explanation{Mounted: true}
	x.Path, x.PID, x.Errno, x.Class, x.Sentence, x.Next = "/m/f", 7, "EROFS", "E_LOCK_CONFLICT", "held by h", "wait"
	x.Holder = &gate.HolderView{ID: "h:u:1:2", Scope: "tree", Token: 3, ExpiresAt: &until}
	text := explanationText(x, now)
	require.Contains(t, text, "/m/f: a write by process 7 would be refused with EROFS (E_LOCK_CONFLICT)\n  held by h\n")
	require.Contains(t, text, "holder: h:u:1:2, scope tree, token 3, until ")
	require.Contains(t, text, "(3s left)")
	require.Contains(t, text, "  next: wait\n")
	x.Allowed = true
	require.Contains(t, explanationText(x, now), "would pass")
	x.Path = "/m/\x1b[2Jf"
	require.NotContains(t, explanationText(x, now), "\x1b", "a name is no command to a terminal")
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"mount", "--nonsense"}, {"mount"}, {"mount", "a", "b", "c"}, {"umount"}, {"exec", "x"},
		{"exec", "x", "--"}, {"exec", "--", "x"}, {"lock", "nonsense"}, {"lock", "acquire"}, {"explain", "a", "b"}, {"explain", "--since", "1s", "a"}, {"explain", "--since", "-1s"},
		{"mount", "--mode", "odd", "/"}, {"lock", "acquire", "--pid", "-1", "/"}, {"lock", "acquire", "--wait", "x", "/"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), args, stdio{os.Stdin, &out, &errs})
		require.Equal(t, exitUsage, code, "%q: %s", args, errs.String())
		require.Contains(t, errs.String(), "jvsfs: E_USAGE: ", "%q", args)
		require.Contains(t, errs.String(), "next: ", "%q", args)
	}
}

func TestUmountOfWhatIsNoMount(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"umount", t.TempDir()}, stdio{os.Stdin, &out, &errs})
	require.Equal(t, exitNoMount, code)
	require.Contains(t, errs.String(), "E_NO_MOUNT")
}

func TestExitCodeOfStatus(t *testing.T) {
	require.Equal(t, 7, exitCodeOfStatus(syscall.WaitStatus(7<<8)))
	require.Equal(t, 137, exitCodeOfStatus(syscall.WaitStatus(9)))
}

func TestClockFinding(t *testing.T) {
	bound := 2 * time.Second
	require.Equal(t, sevOK, clockFinding(unix.TIME_OK, 0, time.Millisecond, bound).Severity)
	require.Equal(t, sevWarn, clockFinding(unix.TIME_ERROR, 0, 0, bound).Severity)
	require.Equal(t, sevWarn, clockFinding(unix.TIME_OK, unix.STA_UNSYNC, 0, bound).Severity)
	require.Equal(t, sevWarn, clockFinding(unix.TIME_OK, 0, 1001*time.Millisecond, bound).Severity)
	require.True(t, failed([]finding{{Severity: sevWarn}}, true))
	require.False(t, failed([]finding{{Severity: sevWarn}}, false))
	require.True(t, failed([]finding{{Severity: sevFail}}, false))
}

func TestOlderThan(t *testing.T) {
	require.True(t, olderThan("5.4.0-generic", "5.12"))
	require.False(t, olderThan("6.18.44-fc", "6.6"))
	require.False(t, olderThan("5.12-rc1", "5.12"))
	require.False(t, olderThan("strange", "5.12"))
}
