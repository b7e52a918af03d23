package fusefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// noCapabilities is what setcap(8) writes for an empty set.
var noCapabilities = append([]byte{0, 0, 0, 2}, make([]byte, 16)...)

// newFileMount is a mount over what counts as a FUSE store, with a file f that was made under a lease.
func newFileMount(t *testing.T) (*testMount, *node) {
	t.Helper()
	m := mounted(t, layout.Tree, func(source string) {
		require.NoError(t, os.WriteFile(filepath.Join(source, "old"), nil, 0o644))
	})
	m.fs.syncs = true
	m.hold(t, "tree", 1)
	require.NoError(t, os.WriteFile(m.at("f"), []byte("x"), 0o644))
	return m, m.nodeOf(t, "f")
}

func (m *testMount) nodeOf(t *testing.T, name string) *node {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(m.source, name), &st))
	n := m.fs.nodes.find(tree.KeyOf(&st))
	require.NotNil(t, n)
	return n
}

func TestAFileThatWasMadeUnderTheLeaseHasNoCapabilities(t *testing.T) {
	m, n := newFileMount(t)
	require.True(t, m.fs.hasNoCaps(n))
	_, err := unix.Getxattr(m.at("f"), capabilityAttr, nil)
	require.ErrorIs(t, err, unix.ENODATA)

	require.NoError(t, unix.Setxattr(filepath.Join(m.source, "f"), capabilityAttr, noCapabilities, 0))
	_, err = unix.Getxattr(m.at("f"), capabilityAttr, nil)
	require.ErrorIs(t, err, unix.ENODATA, "nobody is asked")
	require.NoError(t, os.Chown(m.at("f"), 1, 1))
	_, err = unix.Getxattr(filepath.Join(m.source, "f"), capabilityAttr, nil)
	require.ErrorIs(t, err, unix.ENODATA, "the kernel below has removed them")
}

func TestKnowledgeThatAFileHasNoCapabilitiesEnds(t *testing.T) {
	for name, end := range map[string]func(m *testMount){
		"somebody sets them": func(m *testMount) { require.NoError(t, unix.Setxattr(m.at("f"), capabilityAttr, noCapabilities, 0)) },
		"a lease has ended":  func(m *testMount) { m.fs.losses.Add(1) },
	} {
		m, n := newFileMount(t)
		end(m)
		require.False(t, m.fs.hasNoCaps(n), name)
		require.NoError(t, unix.Setxattr(filepath.Join(m.source, "f"), capabilityAttr, noCapabilities, 0))
		size, err := unix.Getxattr(m.at("f"), capabilityAttr, nil)
		require.NoError(t, err, name)
		require.Equal(t, len(noCapabilities), size, name)
	}
}

// A file that was there is asked for, also if it was opened as if it were to be made.
func TestAnOldFileMayHaveCapabilities(t *testing.T) {
	m, _ := newFileMount(t)
	require.NoError(t, os.WriteFile(m.at("old"), []byte("x"), 0o644))
	require.False(t, m.fs.hasNoCaps(m.nodeOf(t, "old")))
}
