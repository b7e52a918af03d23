package jvs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Which changes of names a READY snapshot allows, to who is no JVS.
func TestAReadySnapshotAllowsNoChangeOfNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"snapshots/1/.READY", "snapshots/1/f", "descriptors/1.json", "snapshots/2/.READY", "descriptors/3.json", "snapshots/3/f", "gc/p.json"} {
		path := filepath.Join(root, ".jvs", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(`{"to_delete": ["1"]}`), 0o644))
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	s := New(layout.Layout{}, tree.New(fd, -1, false), nil)
	me := process.Caller{TID: uint32(os.Getpid())}
	for _, c := range []struct {
		op    gate.Op
		path  string
		fixed bool
	}{
		{gate.OpRename, ".jvs/snapshots/1", true},
		{gate.OpUnlink, ".jvs/snapshots/1/f", true},
		{gate.OpUnlink, ".jvs/snapshots/1/.READY", true},
		{gate.OpCreate, ".jvs/snapshots/1/new", true},
		{gate.OpRename, ".jvs/descriptors/1.json", true},
		{gate.OpUnlink, ".jvs/descriptors/1.json", true},
		{gate.OpCreate, ".jvs/snapshots/2/f", false},      // it has no descriptor
		{gate.OpRename, ".jvs/descriptors/2.json", false}, // which makes it READY
		{gate.OpUnlink, ".jvs/descriptors/3.json", false}, // it is not marked
		{gate.OpCreate, ".jvs/snapshots/3/.READY", false}, // which makes it READY
		{gate.OpMkdir, ".jvs/snapshots/4", false},         // a new one
		{gate.OpCreate, ".jvs/descriptors/.tmp-1", false}, // it describes nothing yet
		{gate.OpRename, ".jvs/snapshots", true},           // with it they would go
		{gate.OpRename, ".jvs", true},
		{gate.OpMkdir, ".jvs/snapshots", false},
	} {
		require.Equal(t, c.fixed, s.fixed(c.op, me, c.path), "%v %s", c.op, c.path)
	}
	require.True(t, s.planned("1"))
	require.False(t, s.planned("2"))
	require.False(t, s.collects(me, "1"), "the test is no JVS")
	require.NoError(t, os.Remove(filepath.Join(root, ".jvs/descriptors/1.json")))
	require.False(t, s.fixed(gate.OpRename, me, ".jvs/snapshots"), "none is READY")
}

// Of the snapshots that are being made the last ones are remembered.
func TestTheLastSnapshotsThatWereBegunAreRemembered(t *testing.T) {
	var b begun
	for range 2 {
		for i := range begunMax + 1 {
			b.add(begunSnapshot{id: string(rune('a' + i))})
		}
	}
	require.Len(t, b.all, begunMax)
	_, ok := b.find(string(rune('a' + begunMax)))
	require.True(t, ok)
	_, ok = b.find("a")
	require.False(t, ok)
}
