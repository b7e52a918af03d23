package fusefs

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// newDirMount is a mount over what counts as a FUSE store, with a directory d that was made under a lease and listed.
func newDirMount(t *testing.T) (*testMount, *node) {
	t.Helper()
	m := mounted(t, layout.Tree, func(source string) {
		for _, name := range []string{"moved", "linked", "swapped"} {
			require.NoError(t, os.WriteFile(filepath.Join(source, name), nil, 0o644))
		}
	})
	m.fs.syncs = true
	m.hold(t, "tree", 1)
	require.NoError(t, os.Mkdir(m.at("d"), 0o755))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(m.source, "d"), &st))
	n := m.fs.nodes.find(tree.KeyOf(&st))
	require.NotNil(t, n)
	for i := range listAfter {
		require.NoFileExists(t, m.at("d/no"+strconv.Itoa(i)))
	}
	require.NotNil(t, m.fs.knownNamesOf(n))
	require.True(t, m.fs.isAbsent(n, "x"))
	return m, n
}

// Every name that comes into a new directory through the mount is noted, whatever makes it.
func TestEachWayToMakeANameInANewDirectoryIsNoted(t *testing.T) {
	m, n := newDirMount(t)
	at := func(name string) string { return m.at("d/" + name) }
	for name, make := range map[string]func(to string) error{
		"created":   func(to string) error { return os.WriteFile(to, nil, 0o644) },
		"mkdir":     func(to string) error { return os.Mkdir(to, 0o755) },
		"mknod":     func(to string) error { return unix.Mkfifo(to, 0o644) },
		"symlink":   func(to string) error { return os.Symlink("x", to) },
		"link":      func(to string) error { return os.Link(m.at("linked"), to) },
		"renamed":   func(to string) error { return os.Rename(m.at("moved"), to) },
		"exchanged": func(to string) error { return exchange(t, m.at("swapped"), to) },
		"UPPER":     func(to string) error { return os.WriteFile(to, nil, 0o644) },
	} {
		require.True(t, m.fs.isAbsent(n, name), name)
		require.NoError(t, make(at(name)), name)
		require.False(t, m.fs.isAbsent(n, name), name)
	}
	require.False(t, m.fs.isAbsent(n, "upper"), "a store may take it for the other")
	require.False(t, m.fs.isAbsent(n, ".snap"), "a store may have it without listing it")
	require.False(t, m.fs.isAbsent(n, "é"))
	require.True(t, m.fs.isAbsent(n, "none"))
	require.NoError(t, os.WriteFile(at("é"), nil, 0o644))
	require.Nil(t, m.fs.knownNamesOf(n), "nobody knows for what a store takes it")
}

// exchange swaps a file with a new one at to, which is made past the notes.
func exchange(t *testing.T, from, to string) error {
	t.Helper()
	if err := os.WriteFile(to, nil, 0o644); err != nil {
		return err
	}
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
}

// What is known of a new directory ends with the lease, with a change past the mount, and where it would be too much.
func TestKnowledgeOfANewDirectoryEndsWithTheLeaseAndWithChangesPastTheMount(t *testing.T) {
	for name, end := range map[string]func(*testMount, *node){
		"a lease has ended":   func(m *testMount, _ *node) { m.fs.losses.Add(1) },
		"past the mount":      func(m *testMount, n *node) { m.fs.changedBehind(n, "x", unix.IN_CREATE) },
		"events were lost":    func(m *testMount, _ *node) { m.fs.watcher.forgetSelfEvents() },
		"its watch has ended": func(m *testMount, n *node) { m.fs.watcher.forget(n) },
		"it has no watch": func(m *testMount, n *node) {
			m.fs.watcher.mu.Lock()
			defer m.fs.watcher.mu.Unlock()
			watch := m.fs.watcher.nodes.By[n]
			m.fs.watcher.nodes.Delete(watch)
		},
		"too many names": func(_ *testMount, n *node) {
			for i := range knownNamesMax + 1 {
				n.mayHave(strconv.Itoa(i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, n := newDirMount(t)
			end(m, n)
			require.False(t, m.fs.isAbsent(n, "x"))
		})
	}
}
