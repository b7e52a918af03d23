package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// What somebody makes at a new name after nobody had to be asked for it is not replaced.
func TestAFreeNameIsTakenOnlyWhileItIsFree(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	at := &node{fd: fd}
	for _, name := range []string{"checkout", "theirs"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	move := func(to string, free bool) error {
		return renaming{in: &fuse.RenameIn{}, from: at, to: at, oldName: "checkout", newName: to, free: free}.rename()
	}
	require.ErrorIs(t, move("theirs", true), unix.EEXIST)
	require.DirExists(t, filepath.Join(dir, "checkout"))
	require.NoError(t, move("moved", true))
	require.NoError(t, os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "checkout")))
	require.NoError(t, move("theirs", false), "where the rule of the new name was asked")
}

// A policy may refuse for several reasons. Who refuses tells the first, who only observes tells all.
func TestEachRefusalOfAPolicyIsToldWhereTheMountOnlyObserves(t *testing.T) {
	for mode, want := range map[gate.Enforce]struct {
		st   fuse.Status
		told int
	}{gate.Enforcing: {fuse.EROFS, 1}, gate.Observing: {fuse.OK, 2}} {
		told := 0
		f := &rawFS{opts: Options{Enforcement: gate.NewEnforcement(mode), Errno: syscall.EROFS, OnRefusal: func(*gate.Refusal) { told++ }}}
		no := &gate.Refusal{Reason: gate.ReasonKept}
		require.Equal(t, want.st, f.answer(errors.Join(no, no)))
		require.Equal(t, want.told, told)
	}
}
