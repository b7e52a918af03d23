package place

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// A repository's log must not be reached through a link that somebody planted.
func TestTheAuditLogIsNotFollowedThroughLinks(t *testing.T) {
	repo, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(repo, ".jvs", "locks"), 0o755))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(repo, ".jvs", "audit")))
	locks, err := lease.OpenDir(locksOf(repo))
	require.NoError(t, err)
	defer locks.Close()
	_, err = OpenAudit(Place{Shape: api.ShapeRepository, Repo: repo, Root: repo, LockDir: locksOf(repo)}, -1, locks)
	require.Error(t, err)
	entries, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, entries)
}
