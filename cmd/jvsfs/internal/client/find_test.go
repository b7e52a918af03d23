package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// A directory that was mounted over while a command looked for it is that of the mount. Else the command would take a lease of the
// machine's own records, with a token that the mount knows nothing of.
func TestAPathThatIsMountedDuringTheLookupIsThatOfTheMount(t *testing.T) {
	dir := t.TempDir()
	root := host.MountTable{{ID: 1, Parent: 1, Mountpoint: "/", FSType: "ext4"}}
	mounted := append(root[:1:1], host.MountTable{{ID: 2, Parent: 1, Mountpoint: dir, FSType: host.FSType, Source: "/elsewhere"}}...)
	other := append(root[:1:1], host.MountTable{{ID: 3, Parent: 1, Mountpoint: dir, FSType: "tmpfs"}}...)
	for name, c := range map[string]struct {
		tables []host.MountTable // one for each time that it is read; the last one stays
		mount  int               // 0: none
		fails  bool
	}{
		"nothing is mounted":               {[]host.MountTable{root}, 0, false},
		"it was mounted before":            {[]host.MountTable{mounted}, 2, false},
		"it is mounted meanwhile":          {[]host.MountTable{root, mounted}, 2, false},
		"something else is":                {[]host.MountTable{root, other}, 0, false},
		"it is mounted after another look": {[]host.MountTable{root, other, mounted}, 2, false},
		"it never stays":                   {[]host.MountTable{root, other, root, other, root, other, root, other, root, other}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			got, err := find(t.Context(), dir, "", func() (host.MountTable, error) {
				table := c.tables[min(reads, len(c.tables)-1)]
				reads++
				return table, nil
			})
			if c.fails {
				require.ErrorContains(t, err, "again and again")
				return
			}
			require.NoError(t, err)
			if c.mount == 0 {
				require.Nil(t, got.Mount)
				require.Equal(t, dir, got.Place.Root)
				return
			}
			require.NotNil(t, got.Mount)
			require.Equal(t, c.mount, got.Mount.ID)
		})
	}
}
