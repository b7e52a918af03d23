package lease

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryUserWhoCanChangeALockDirectoryIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give directories away")
	}
	for name, c := range map[string]struct {
		do      func(base string) error // base/above/locks
		path    string
		exposed int
	}{
		"private":               {func(string) error { return nil }, "above/locks", 0},
		"absent":                {func(string) error { return nil }, "above/no", 0},
		"the owner above":       {func(b string) error { return os.Chown(b+"/above", 1000, 1000) }, "above/locks", 1},
		"its owner":             {func(b string) error { return os.Chown(b+"/above/locks", 1000, 0) }, "above/locks", 1},
		"everybody above":       {func(b string) error { return os.Chmod(b+"/above", 0o777) }, "above/locks", 1},
		"everybody, but sticky": {func(b string) error { return os.Chmod(b+"/above", os.ModeSticky|0o777) }, "above/locks", 0},
		"root's group":          {func(b string) error { return os.Chmod(b+"/above", 0o770) }, "above/locks", 0},
		"a group": {func(b string) error {
			if err := os.Chown(b+"/above", 0, 1000); err != nil {
				return err
			}
			return os.Chmod(b+"/above", 0o770)
		}, "above/locks", 1},
		"a link of root's":     {func(b string) error { return os.Symlink(b+"/above", b+"/link") }, "link/locks", 0},
		"a link of somebody's": {func(b string) error { return linkOf(b, 1000) }, "link/locks", 1},
		"a link in a directory that all can write": {func(b string) error {
			if err := os.Mkdir(b+"/open", 0o700); err != nil {
				return err
			}
			if err := os.Symlink(b+"/above", b+"/open/link"); err != nil {
				return err
			}
			return os.Chmod(b+"/open", 0o777)
		}, "open/link/locks", 1},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(base, "above", "locks"), 0o700))
			require.NoError(t, c.do(base))
			found, err := Exposures(filepath.Join(base, c.path))
			require.NoError(t, err)
			require.Len(t, found, c.exposed, "%v", found)
			if c.exposed > 0 {
				require.Contains(t, found[0].String(), base)
			}
			found, err = Exposures(filepath.Join(base, c.path), 1000)
			require.NoError(t, err)
			for _, e := range found {
				require.False(t, e.Owner, "%v: its owner is trusted", e)
			}
		})
	}
}

func linkOf(base string, uid int) error {
	if err := os.Symlink(base+"/above", base+"/link"); err != nil {
		return err
	}
	return os.Lchown(base+"/link", uid, uid)
}
