// Package testkit is what the tests of several rooms share. Only tests import it.
package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Tree makes directories below a new one, and returns that one. Its path has no symbolic links.
func Tree(t *testing.T, dirs ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return root
}

// Repository makes a repository with the worktree main. Its lock directory is not there yet.
func Repository(t *testing.T) (main, locks string) {
	t.Helper()
	root := Tree(t, "repo/.jvs", "repo/main")
	return filepath.Join(root, "repo/main"), filepath.Join(root, "repo/.jvs/locks")
}

// Record is a lock record with a value in every field that is printed, a secret, and a purpose that would clear a terminal.
func Record() *record.Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &record.Record{
		LockID: "l", WorktreeID: "main", HolderID: "h:u:5:9", HolderNonce: "secret", SessionID: "s", UID: 1000,
		FencingToken: 4, Scope: "tree", Purpose: "tests\x1b[2J", CreatedAt: at, LastRenewedAt: at, LeaseExpiresAt: at.Add(30 * time.Second),
		LeaseDurationMS: 30000, RenewIntervalMS: 10000, MaxClockSkewMS: 2000, StealGraceMS: 1000,
	}
}

// BadFindings are the ids of findings that report a problem. Each must say why it matters and how to repair it.
func BadFindings(t *testing.T, all []finding.Finding) []string {
	t.Helper()
	ids := []string{}
	for _, f := range all {
		require.NotEmpty(t, f.Message)
		if f.Severity == finding.SevOK {
			require.Empty(t, f.Why)
			continue
		}
		require.NotEmpty(t, f.Why, f.ID)
		require.NotEmpty(t, f.Fix, f.ID)
		ids = append(ids, f.ID)
	}
	return ids
}

// HostMounts is a mount table of a machine: /srv is a file system of its own with a repository in it. The repository is
// mounted over in place, and shown at other places.
const HostMounts = `27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 254:16 /data /srv rw shared:5 - ext4 /dev/vdb rw
40 30 0:50 / /srv/repo rw - fuse.jvsfs /srv/repo rw
41 27 254:16 / /mnt/disk rw - ext4 /dev/vdb rw
42 27 254:16 /data/repo/main /home/u/main rw - ext4 /dev/vdb rw
43 27 254:16 /data/other /home/u/other rw - ext4 /dev/vdb rw
44 27 254:16 /data/repo /hidden rw - ext4 /dev/vdb rw
45 44 0:60 / /hidden rw - tmpfs tmpfs rw
`

// Mounts reads a mount table in the form of /proc/PID/mountinfo.
func Mounts(t *testing.T, text string) []*mountinfo.Info {
	t.Helper()
	table, err := mountinfo.GetMountsFromReader(strings.NewReader(text), nil)
	require.NoError(t, err)
	return table
}

// MountsOn are the mounts of this machine at dir, the topmost last.
func MountsOn(dir string) ([]*mountinfo.Info, error) {
	return mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) { return i.Mountpoint != dir, false })
}
