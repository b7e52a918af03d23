package lease

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a directory that is there for records becomes private. Any other that is open to others stays as it is.
func TestOnlyADirectoryForRecordsIsMadePrivate(t *testing.T) {
	claim := "main.claim.00000000000000000001"
	for what, c := range map[string]struct {
		mode  os.FileMode
		files []string
		ours  bool
	}{
		"empty":                 {0o755, nil, true},
		"a file system":         {0o755, []string{"lost+found"}, true},
		"with a claim":          {0o755, []string{claim, "notes"}, true},
		"with a gate":           {0o770, []string{"main.gate"}, true},
		"private":               {0o700, []string{"notes"}, true},
		"of others":             {0o755, []string{"notes"}, false},
		"with a lock of others": {0o755, []string{"apt.lock"}, false},
		"sticky":                {0o777 | os.ModeSticky, nil, false},
		"sticky with a claim":   {0o777 | os.ModeSticky, []string{claim}, false},
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			makeOpen(t, dir, c.mode, c.files)
			before := modeOf(t, dir)
			look, err := OpenDirToLook(dir)
			require.NoError(t, err)
			require.NoError(t, look.Close())
			require.Equal(t, before, modeOf(t, dir), "who only looks changes nothing")
			d, err := OpenDir(dir)
			if !c.ours {
				requireClass(t, ClassStoreFailed, err)
				require.ErrorContains(t, err, dir)
				require.Equal(t, before, modeOf(t, dir))
				return
			}
			require.NoError(t, err)
			require.NoError(t, d.Close())
			require.Equal(t, os.ModeDir|0o700, modeOf(t, dir))
		})
	}
}

// The name that a repository has for its records is proof enough.
func TestALockDirectoryOfARepositoryIsMadePrivate(t *testing.T) {
	data := filepath.Join(t.TempDir(), ".jvs")
	makeOpen(t, data, 0o755, []string{"repo_mode"})
	locks := filepath.Join(data, "locks")
	makeOpen(t, locks, 0o755, []string{".gitkeep"})
	for _, dir := range []string{locks, data} {
		d, err := OpenDir(dir)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.Equal(t, os.ModeDir|0o700, modeOf(t, dir))
	}
}

func makeOpen(t *testing.T, dir string, mode os.FileMode, files []string) {
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Chmod(dir, mode))
}

func modeOf(t *testing.T, dir string) os.FileMode {
	info, err := os.Stat(dir)
	require.NoError(t, err)
	return info.Mode()
}
