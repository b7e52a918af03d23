package host

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func openRunLock(t *testing.T, dir string) *RunLock {
	t.Helper()
	l, err := OpenRunLock(dir, "/srv/repo")
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

func taken(t *testing.T, take func(RunByte) (bool, error), b RunByte) bool {
	t.Helper()
	ok, err := take(b)
	require.NoError(t, err)
	return ok
}

// Runs share a mount. Whoever takes it away is alone, and keeps the next run out meanwhile.
func TestRunsShareAMountAndOneUnmountsIt(t *testing.T) {
	dir := t.TempDir()
	one, two, last := openRunLock(t, dir), openRunLock(t, dir), openRunLock(t, dir)
	require.True(t, taken(t, one.Share, RunUses))
	require.True(t, taken(t, two.Share, RunUses))
	require.False(t, taken(t, last.Alone, RunUses))
	require.True(t, taken(t, two.Alone, RunSetsUp), "the bytes are locks of their own")
	require.False(t, taken(t, one.Alone, RunSetsUp))
	one.Close()
	require.False(t, taken(t, last.Alone, RunUses))
	two.Close()
	require.True(t, taken(t, last.Alone, RunUses))
	three := openRunLock(t, dir)
	require.False(t, taken(t, three.Share, RunUses))
}

// A run that waited for the file of a mount that went has a file without a name, and must see it.
func TestARunLockThatWasRemovedIsNotCurrent(t *testing.T) {
	dir := t.TempDir()
	last, waits := openRunLock(t, dir), openRunLock(t, dir)
	require.True(t, taken(t, last.Alone, RunUses))
	require.NoError(t, last.Remove())
	last.Close()
	require.True(t, taken(t, waits.Share, RunUses))
	require.False(t, waits.Current())
	require.NoError(t, waits.Remove())
	again := openRunLock(t, dir)
	require.True(t, again.Current())
	require.NoError(t, waits.Remove())
	require.True(t, again.Current(), "another's file stays")
}

func TestAwaitingARunLockCanBeCalledOff(t *testing.T) {
	dir := t.TempDir()
	last, waits := openRunLock(t, dir), openRunLock(t, dir)
	require.True(t, taken(t, last.Alone, RunUses))
	ctx, cancel := context.WithCancel(context.Background())
	require.ErrorIs(t, waits.Await(ctx, waits.Share, RunUses, time.Nanosecond, cancel), context.Canceled, "it says that it waits, and ends")
	last.Close()
	require.NoError(t, waits.Await(context.Background(), waits.Share, RunUses, time.Hour, nil))
}

// What another user could have put there is no lock.
func TestARunLockIsRootsAlone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := OpenRunLock(dir, "/srv/repo")
	require.Error(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	l := openRunLock(t, dir)
	info, err := l.f.Stat()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, os.Remove(l.f.Name()))
	require.NoError(t, os.Symlink("/dev/null", l.f.Name()))
	_, err = OpenRunLock(dir, "/srv/repo")
	require.Error(t, err)
}
