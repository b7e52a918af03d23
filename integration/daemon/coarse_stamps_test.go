package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Files whose names begin with "coarse" have stamps of whole seconds in a farStore, as those of MooseFS have.
var farCoarse sync.Map // their inodes

func notesCoarse(name string, out *fuse.EntryOut) {
	if strings.HasPrefix(name, "coarse") && out.NodeId != 0 {
		farCoarse.Store(out.NodeId, true)
		coarsely(&out.Attr)
	}
}

func coarsely(a *fuse.Attr) { a.Mtimensec, a.Ctimensec = 0, 0 }

// Another host may change a file twice within one second, and its stamp and size say nothing of it. What was read in between is read again, also
// by who takes the lease over, and by who has the file open all the time.
func TestTwoChangesOfAnotherHostWithinASecondAreSeen(t *testing.T) {
	m, _ := farMount(t, nil)
	other := filepath.Join(m.Base, "source", "coarse") // as another host sees it
	seen := m.At("coarse")
	read := func() string {
		t.Helper()
		text, err := os.ReadFile(seen)
		require.NoError(t, err)
		return string(text)
	}
	untilASecondBegins()
	require.NoError(t, os.WriteFile(other, []byte("one\n"), 0o644))
	require.NoError(t, os.WriteFile(other+"-open", []byte("one\n"), 0o644))
	require.Equal(t, "one\n", read())
	require.Equal(t, "one\n", read())
	open, err := os.Open(seen + "-open")
	require.NoError(t, err)
	defer open.Close()
	readOpen := func() string {
		var text [4]byte
		_, err := open.ReadAt(text[:], 0)
		require.NoError(t, err)
		return string(text[:])
	}
	require.Equal(t, "one\n", readOpen())
	require.NoError(t, os.WriteFile(other, []byte("two\n"), 0o644))
	require.NoError(t, os.WriteFile(other+"-open", []byte("two\n"), 0o644))
	harness.Eventually(t, "the change is seen by path", func() bool { return read() == "two\n" })
	harness.Eventually(t, "the change is seen by who has the file open", func() bool { _, err := open.Stat(); return err == nil && readOpen() == "two\n" })
	a := harness.StartActor(t, "taker")
	m.Acquire(a)
	require.Equal(t, "two\n", read())
}

// untilASecondBegins makes that what follows within a moment has one stamp. On a machine that is too busy for that, both stamps differ,
// and the story is an easy one.
func untilASecondBegins() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now)) // the clock is what is waited for
}
