package layout

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// To which snapshot a path belongs, and whether a change of its name can make the snapshot READY, or end it.
func TestAPathIsFoundToBelongToItsSnapshot(t *testing.T) {
	for _, c := range []struct {
		path, id  string
		publishes bool
	}{
		{".jvs/snapshots/1", "1", true},
		{".jvs/snapshots/1/.READY", "1", true},
		{".jvs/snapshots/1/a/.READY", "1", false},
		{".jvs/snapshots/1/a/b", "1", false},
		{".jvs/snapshots/1.tmp/a", "1.tmp", false},
		{".jvs/descriptors/1.json", "1", true},
		{".jvs/descriptors/1.json/a", "", false},
		{".jvs/descriptors/.jvs-tmp-1", "", false},
		{".jvs/descriptors/.json", "", false},
		{".jvs/descriptors", "", true},
		{".jvs/snapshots", "", true},
		{".jvs", "", true},
		{".jvs/locks/repo.lock", "", false},
		{"main/.jvs/snapshots/1/a", "", false},
		{"", "", false},
	} {
		id, is := SnapshotOf(c.path)
		require.Equal(t, c.id, id, c.path)
		require.Equal(t, c.id != "", is, c.path)
		require.Equal(t, c.publishes, Publishes(c.path), c.path)
	}
	require.Equal(t, [2]string{".jvs/snapshots/1/.READY", ".jvs/descriptors/1.json"}, ReadyMarks("1"))
}

// A plan of a garbage collection names what it removes. What is no plan names nothing.
func TestAPlanOfACollectionNamesWhatItRemoves(t *testing.T) {
	require.True(t, Plans([]byte(`{"protected_set": ["2"], "to_delete": ["1", "3"]}`), "3"))
	for _, text := range []string{`{"protected_set": ["3"], "to_delete": ["1"]}`, `{"to_delete": "3"}`, `{"to_delete": ["3"]`, ``} {
		require.False(t, Plans([]byte(text), "3"), text)
	}
}
