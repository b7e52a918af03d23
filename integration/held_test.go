package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHeldActsAsNative gives every row to the rightful holder, and to an actor
// on a plain directory: what the calls say, what is on the backing side
// afterwards, and what the mount shows of it must be the same.
func TestHeldActsAsNative(t *testing.T) {
	for _, shape := range []struct {
		name string
		mountOptions
	}{
		{"own mountpoint", mountOptions{}},
		{"in place", mountOptions{inPlace: true}},
	} {
		t.Run(shape.name, func(t *testing.T) {
			o := shape.mountOptions
			o.onFree, o.prepare = "deny", prepareStage
			heldActsAsNative(t, newMount(t, o))
		})
	}
}

func heldActsAsNative(t *testing.T, m *mount) {
	plain := filepath.Join(m.base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepareStage(t, plain)
	plainView := bindView(t, plain, filepath.Join(m.base, "plainview"), 0)
	holder, native := startActor(t, "holder"), startActor(t, "native")
	m.acquire(holder)
	sameRows(t, native, holder, pair{front: m.Mountpoint, behind: m.View, plain: plain}, plainView)
	require.Empty(t, holder.do(command{Op: "reads", Path: m.Mountpoint}).Note)
}

// sameRows runs every row on both sides of the pair and compares.
func sameRows(t *testing.T, native, holder *actor, p pair, plainView string) {
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			want := runRow(t, native, p.plain, r)
			got := runRow(t, holder, p.front, r)
			assert.Empty(t, want.Errno, "on the plain directory")
			assert.Equal(t, want.Errno, got.Errno, got.Note)
			assert.Equal(t, want.Vals, got.Vals, "return values")
			dir := filepath.Join(rowsDir, r.slug())
			after, natively := takeDigest(t, filepath.Join(p.behind, dir)), takeDigest(t, filepath.Join(plainView, dir))
			assert.Empty(t, natively.diff(after, leaveTimes, leaveDirSizes), "plain directory, backing directory")
			for _, name := range r.times {
				assert.Equal(t, natively[name].mtime, after[name].mtime, "mtime of %s", name)
				assert.Equal(t, natively[name].atim, after[name].atim, "atime of %s", name)
			}
			seen := takeDigest(t, filepath.Join(p.front, dir))
			assert.Empty(t, after.diff(seen, leaveChangeTimes, leaveDirSizes), "backing directory, mount")
		})
	}
}

// runRow is a row from its open to its end; what it still held is dropped.
func runRow(t *testing.T, a *actor, tree string, r row) reply {
	t.Helper()
	opened, err := a.try(command{Op: "row.open", Path: tree, Name: r.name})
	require.NoError(t, err)
	require.Empty(t, opened.Errno, "opening in %s", tree)
	got, err := a.try(command{Op: "row.run", Path: tree, Name: r.name})
	require.NoError(t, err)
	_, err = a.try(command{Op: "row.drop", Path: tree, Name: r.name})
	require.NoError(t, err)
	return got
}
