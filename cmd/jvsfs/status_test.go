package main

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
)

func TestStatusPrintsMountsAndWorktrees(t *testing.T) {
	require.Equal(t, "no jvsfs mounts\n", statusText(nil, time.Now()))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := now.Add(12 * time.Second)
	text := statusText([]api.MountStatus{
		{Mountpoint: "/m", Source: "/s", State: "serving", PID: 9, EnforceStatus: api.EnforceStatus{Enforce: "enforce"}, Local: true, Worktrees: []gate.Status{
			{Worktree: "main", State: "held", Token: 3, HolderID: "h:u:1:2", Purpose: "build", ExpiresAt: &until, TimeLeftMS: 7000, Writes: 5, Refusals: 2},
			{Worktree: "a", State: "free"},
		}},
		{Mountpoint: "/d", State: "dead", Detail: "no answer"},
	}, now)
	require.Equal(t, `/m  serving  source /s  pid 9  enforce  fence local to this machine
  WORKTREE  STATE  TOKEN  HOLDER           LEFT  WRITES  REFUSED  WOULD REFUSE
  main      held   3      h:u:1:2 (build)  7s    5       2        0
  a         free   0      -                -     0       0        0

/d  dead
  no answer
`, text)
}

func TestExplainPrintsTheReasonAndTheNextStep(t *testing.T) {
	now := time.Now()
	until := now.Add(3 * time.Second)
	x := api.Explanation{Mounted: true}
	x.Path, x.PID, x.Errno, x.Class, x.Sentence, x.Next = "/m/f", 7, "EROFS", "E_LOCK_CONFLICT", "held by h", "wait"
	x.Holder = &gate.HolderView{ID: "h:u:1:2", Scope: "tree", Token: 3, ExpiresAt: &until}
	text := explanationText(x, now)
	require.Contains(t, text, "/m/f: a write by process 7 would be refused with EROFS (E_LOCK_CONFLICT)\n  held by h\n")
	require.Contains(t, text, "holder: h:u:1:2, scope tree, token 3, until ")
	require.Contains(t, text, "(3s left)")
	require.Contains(t, text, "  next: wait\n")
	x.Status = gate.Status{State: "held", Token: 3, TimeLeftMS: 1500, ExpiresAt: &until}
	require.Contains(t, explanationText(x, now), "(1.5s left)", "what the sentence says, and not when the record ends")
	x.Allowed = true
	require.Contains(t, explanationText(x, now), "would pass")
	x.Path = "/m/\x1b[2Jf"
	require.NotContains(t, explanationText(x, now), "\x1b", "a name is no command to a terminal")
}

func TestEveryWrongCommandLineIsAUsageError(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"mount", "--nonsense"}, {"mount"}, {"mount", "a", "b", "c"}, {"umount"}, {"exec", "x"},
		{"exec", "x", "--"}, {"exec", "--", "x"}, {"lock", "nonsense"}, {"lock", "acquire"}, {"explain", "a", "b"}, {"explain", "--since", "1s", "a"}, {"explain", "--since", "-1s"},
		{"mount", "--mode", "odd", "/"}, {"lock", "acquire", "--pid", "-1", "/"}, {"lock", "acquire", "--wait", "x", "/"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), args, program{stdio: stdio{os.Stdin, &out, &errs}})
		require.Equal(t, api.ExitUsage, code, "%q: %s", args, errs.String())
		require.Contains(t, errs.String(), "jvsfs: E_USAGE: ", "%q", args)
		require.Contains(t, errs.String(), "next: ", "%q", args)
	}
}

func TestUmountOfADirectoryWithoutAMountSaysSo(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"umount", t.TempDir()}, program{stdio: stdio{os.Stdin, &out, &errs}})
	require.Equal(t, api.ExitNoMount, code)
	require.Contains(t, errs.String(), "E_NO_MOUNT")
}

func TestASignalIsAnExitCodeOf128AndItsNumber(t *testing.T) {
	require.EqualValues(t, 7, exitCodeOfStatus(syscall.WaitStatus(7<<8)))
	require.EqualValues(t, 137, exitCodeOfStatus(syscall.WaitStatus(9)))
}
