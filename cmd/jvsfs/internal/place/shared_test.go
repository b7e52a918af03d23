package place

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

func TestRefuseLocalRecords(t *testing.T) {
	table := host.MountTable{
		{ID: 1, Parent: 0, Mountpoint: "/", FSType: "ext4"},
		{ID: 2, Parent: 1, Mountpoint: "/vol", FSType: "fuse.glusterfs"},
		{ID: 3, Parent: 1, Mountpoint: "/pool", FSType: "fuse.mergerfs"},
		{ID: 4, Parent: 1, Mountpoint: "/new", FSType: "fuse.newfs", Source: "pool"},
	}
	require.Equal(t, "/vol", table.At("/vol/tree").Mountpoint)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("/vol", link))
	for _, row := range []struct {
		p       Place
		refused bool
		advice  string
	}{
		{Place{Root: "/vol/tree", LockDir: "/var/lib/jvsfs/locks/tree"}, true, "/vol/tree.jvsfs-locks"},
		{Place{Root: "/vol", LockDir: "/var/lib/jvsfs/locks/vol"}, true, "/vol/.jvsfs-locks"},
		{Place{Root: "/vol/tree", LockDir: "/vol/locks"}, false, ""},
		{Place{Root: "/vol/tree", Repo: "/vol/tree", LockDir: "/vol/tree/.jvs/locks"}, false, ""},
		{Place{Root: "/srv/tree", LockDir: "/var/lib/jvsfs/locks/tree"}, false, ""},
		{Place{Root: "/pool/tree", LockDir: "/var/lib/jvsfs/locks/tree"}, false, ""},
		{Place{Root: "/new/tree", LockDir: "/var/lib/jvsfs/locks/tree"}, true, "/new/tree.jvsfs-locks"},
		{Place{Root: "/new/tree", LockDir: "/pool/locks"}, true, "/new/tree.jvsfs-locks"},
		{Place{Root: "/new/tree", LockDir: "/new/locks"}, false, ""},
		{Place{Root: "/vol/tree", LockDir: filepath.Join(link, "locks")}, false, ""},
	} {
		err := row.p.RefuseLocalRecords(table)
		require.Equal(t, row.refused, err != nil, "%+v: %v", row.p, err)
		if err != nil {
			require.Contains(t, api.AsFailure(err).Next, "--local-only")
			require.Contains(t, api.AsFailure(err).Next, "--control "+row.advice)
			require.ErrorContains(t, err, table.MayBeShared(row.p.Root))
		}
	}
}
