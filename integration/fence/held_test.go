package fence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestTheHolderSeesEveryRowAsOnAPlainDirectory gives every row to the rightful holder, and to an actor
// on a plain directory: what the calls say, what is on the backing side
// afterwards, and what the mount shows of it must be the same.
func TestTheHolderSeesEveryRowAsOnAPlainDirectory(t *testing.T) {
	for _, shape := range []struct {
		name string
		harness.MountOptions
	}{
		{"own mountpoint", harness.MountOptions{}},
		{"in place", harness.MountOptions{InPlace: true}},
	} {
		t.Run(shape.name, func(t *testing.T) {
			o := shape.MountOptions
			o.OnFree, o.Prepare = "deny", prepareStage
			heldActsAsNative(t, harness.NewMount(t, o))
		})
	}
}

func heldActsAsNative(t *testing.T, m *harness.Mount) {
	plain := filepath.Join(m.Base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepareStage(t, plain)
	plainView := harness.BindView(t, plain, filepath.Join(m.Base, "plainview"), 0)
	holder, native := harness.StartActor(t, "holder"), harness.StartActor(t, "native")
	m.Acquire(holder)
	sameRows(t, native, holder, harness.Pair{Front: m.Mountpoint, Behind: m.View, Plain: plain}, plainView)
	require.Empty(t, failedReads(t, holder, m.Mountpoint))
}

// sameRows runs every row on both sides of the pair and compares.
func sameRows(t *testing.T, native, holder *harness.Actor, p harness.Pair, plainView string) {
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			want := runRow(t, native, p.Plain, r)
			got := runRow(t, holder, p.Front, r)
			assert.Empty(t, want.Errno, "on the plain directory")
			assert.Equal(t, want.Errno, got.Errno, got.Note)
			assert.Equal(t, want.Vals, got.Vals, "return values")
			dir := filepath.Join(rowsDir, r.slug())
			after, natively := harness.TakeDigest(t, filepath.Join(p.Behind, dir)), harness.TakeDigest(t, filepath.Join(plainView, dir))
			assert.Empty(t, natively.Diff(after, harness.LeaveTimes, harness.LeaveDirSizes), "plain directory, backing directory")
			for _, name := range r.times {
				assert.Equal(t, natively[name].Mtime, after[name].Mtime, "mtime of %s", name)
				assert.Equal(t, natively[name].Atim, after[name].Atim, "atime of %s", name)
			}
			seen := harness.TakeDigest(t, filepath.Join(p.Front, dir))
			assert.Empty(t, after.Diff(seen, harness.LeaveChangeTimes, harness.LeaveDirSizes), "backing directory, mount")
		})
	}
}

// runRow is a row from its open to its end; what it still held is dropped.
func runRow(t *testing.T, a *harness.Actor, tree string, r row) harness.Reply {
	t.Helper()
	require.Empty(t, r.opens(t, a, tree).Errno, "opening in %s", tree)
	defer r.drops(t, a, tree)
	return r.runs(t, a, tree)
}
