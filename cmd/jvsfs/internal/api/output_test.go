package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
)

func TestExitCodesAreAPromise(t *testing.T) {
	for class, code := range map[lease.Class]ExitCode{
		"E_LOCK_CONFLICT": 10, "E_LOCK_EXPIRED": 11, "E_LOCK_NOT_HELD": 12, "E_FENCING_MISMATCH": 13,
		"E_CLOCK_SKEW_EXCEEDED": 14, "E_RECORD_UNREADABLE": 15, "E_STORE_FAILED": 15, "E_AUDIT_FAILED": 15,
		"E_BAD_WORKTREE_ID": 2, "E_NO_MOUNT": 16, "E_MOUNT_BUSY": 17, "E_USAGE": 2, "E_NOT_PERMITTED": 1, "": 1,
	} {
		require.Equal(t, code, ExitCodeOf(class), class)
	}
}

func TestAsFailure(t *testing.T) {
	require.Nil(t, AsFailure(nil))
	le := &lease.Error{Class: "E_LOCK_CONFLICT", File: "/f", Holder: testkit.Record(), Message: "held", Next: "wait", Err: errors.New("cause")}
	f := AsFailure(fmt.Errorf("around: %w", le))
	require.Equal(t, ExitConflict, f.Exit())
	require.Equal(t, "held: cause", f.Message)
	require.Equal(t, "h:u:5:9", f.Holder.HolderID)
	require.Equal(t, lease.Token(4), f.Holder.FencingToken)
	require.Equal(t, ExitUsage, AsFailure(errors.Join(nil, Usagef("x"))).Exit())
	require.EqualValues(t, 130, AsFailure(context.Canceled).Exit())
	require.Equal(t, ExitError, AsFailure(errors.New("x")).Exit())
}

func TestFailuresNeverShowTheNonce(t *testing.T) {
	f := AsFailure(&lease.Error{Class: "E_LOCK_CONFLICT", Holder: testkit.Record(), Message: "held"})
	var out, errs bytes.Buffer
	PrintFailure(&out, &errs, f, true)
	require.NotContains(t, out.String()+errs.String(), "secret")
	require.NotContains(t, errs.String(), "\x1b")
	var v map[string]map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &v))
	require.Equal(t, "E_LOCK_CONFLICT", v["error"]["class"])
	require.Contains(t, errs.String(), "jvsfs: E_LOCK_CONFLICT: held (holder h:u:5:9")
}

func TestFailureText(t *testing.T) {
	text := FailureText(&Failure{Class: "E_MOUNT_BUSY", Message: "busy", File: "/f", Next: "end them",
		Busy: []BusyEntry{{PID: 5, Command: "vi", Use: "cwd", Path: "/r/main"}}})
	require.Equal(t, "jvsfs: E_MOUNT_BUSY: busy (file /f)\nPID  USE  PATH     COMMAND\n5    cwd  /r/main  vi\nnext: end them\n", text)
	text = FailureText(&Failure{Message: "open /a\x1b[2J:\n    2 | x", File: "/f\x1b", Next: "end \x1b", Busy: []BusyEntry{{Command: "vi\x1b", Path: "/r\nnext: y"}}})
	require.Equal(t, "jvsfs: open /a?[2J:\n    2 | x (file /f?)\nPID  USE  PATH        COMMAND\n0         /r?next: y  vi?\nnext: end ?\n", text)
	var out bytes.Buffer
	PrintFailure(&out, &out, ExitWith(7), true)
	require.Empty(t, out.String())
}

// What a person copies is never cut: a path, and the command that ends what the kernel keeps. That of a process is,
// at the edge of a terminal.
func TestBusyTextCutsNothingThatIsCopied(t *testing.T) {
	path, ends := "/srv/"+strings.Repeat("long/", 60)+"end", "umount /srv/"+strings.Repeat("deep/", 60)+"end"
	busy := []BusyEntry{{PID: 7, Command: "vi " + path, Use: "cwd", Path: "/r"}, {Command: ends, Use: "mount (tmpfs)", Path: "/r/d"}}
	lines := func(columns int) []string { return strings.Split(BusyText(busy, columns), "\n") }
	whole := lines(0)
	require.True(t, strings.HasSuffix(whole[1], "vi "+path), whole[1])
	require.True(t, strings.HasSuffix(whole[2], ends), whole[2])
	for columns, want := range map[int]int{100: 100, 10: strings.Index(whole[0], "COMMAND") + leastOfCommand} {
		cut := lines(columns)
		require.Equal(t, want, ansi.StringWidth(cut[1]), cut[1])
		require.True(t, strings.HasPrefix(whole[1], strings.TrimSuffix(cut[1], "…")))
		require.Equal(t, whole[2], cut[2])
	}
	busy[0].Path = path
	require.Contains(t, BusyText(busy, 80), path)
}

func TestRecordIsRedactedForOthers(t *testing.T) {
	for uid, shown := range map[uint32]bool{0: true, 1000: true, 1001: false} {
		raw, err := RecordJSON(testkit.Record(), uid)
		require.NoError(t, err)
		require.Equal(t, shown, bytes.Contains(raw, []byte("secret")), uid)
		rec := RecordOf(raw)
		require.NotNil(t, rec, "a client reads the record with or without the nonce")
		require.Equal(t, lease.Token(4), rec.FencingToken)
	}
}
