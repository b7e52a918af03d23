package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
)

func TestAuditVerifyAndTail(t *testing.T) {
	dir := t.TempDir()
	control := filepath.Join(dir, "locks")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "wt"), 0o755))
	require.NoError(t, os.Mkdir(control, 0o700))
	locks, err := lease.OpenDir(control)
	require.NoError(t, err)
	defer locks.Close()
	log, err := place.OpenAudit(place.Place{LockDir: control}, -1, locks)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, log.Append(context.Background(), place.AuditRecordOf(lease.Event{Kind: "acquire", Worktree: "wt", Token: lease.Token(i + 1), At: time.Unix(1, 0)})))
	}
	require.NoError(t, log.Close())
	cli := func(args ...string) (string, api.ExitCode) {
		var out, errs bytes.Buffer
		code := execute(context.Background(), append(args, "--control", control, filepath.Join(dir, "wt")), Program{Streams: console.Streams{Out: &out, Err: &errs}})
		return out.String() + errs.String(), code
	}
	text, code := cli("audit", "tail", "-n", "2")
	require.Zero(t, code, text)
	require.NotContains(t, text, "fencing_token=1 ")
	require.Equal(t, 2, strings.Count(text, "lock_acquire"))
	text, code = cli("audit", "verify")
	require.Zero(t, code, text)

	path := filepath.Join(control, place.AuditName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(b, []byte("\n"))
	require.NoError(t, os.WriteFile(path, bytes.Join(lines[:2], nil), 0o600))
	text, code = cli("audit", "verify")
	require.Equal(t, api.ExitError, code)
	require.Contains(t, text, "the end is missing")
	require.NoError(t, os.WriteFile(path, bytes.Replace(b, []byte(`"fencing_token":2`), []byte(`"fencing_token":7`), 1), 0o600))
	text, code = cli("audit", "verify")
	require.Equal(t, api.ExitError, code)
	require.Contains(t, text, place.AuditName+":2: ")
}
