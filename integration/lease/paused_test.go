package lease

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestNothingOfAPausedHolderLandsAfterATakeover is the story that leases alone cannot tell well: the holder
// sleeps with open descriptors and a dirty mapping, another takes over and
// writes, and the first wakes up, knowing nothing. Nothing of it may land.
func TestNothingOfAPausedHolderLandsAfterATakeover(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, OnFree: "deny", Prepare: harness.WithFiles("plain", "append", "mapped", "idle")})
	sleeper, next := harness.StartActor(t, "sleeper"), harness.StartActor(t, "next")
	first := m.Acquire(sleeper)
	sleeper.OK(harness.Command{Op: "open", Handle: "plain", Path: m.At("plain"), Flags: unix.O_RDWR})
	sleeper.OK(harness.Command{Op: "open", Handle: "append", Path: m.At("append"), Flags: unix.O_WRONLY | unix.O_APPEND})
	for _, name := range []string{"mapped", "idle"} {
		sleeper.OK(harness.Command{Op: "open", Handle: name, Path: m.At(name), Flags: unix.O_RDWR})
		sleeper.OK(harness.Command{Op: "mmap", Handle: name, Name: name, Len: 8192})
		sleeper.OK(harness.Command{Op: "store", Name: name, Data: []byte("SLEEPER'S DIRTY PAGE")})
	}
	sleeper.Stop()

	m.Steal(next)
	_, record := m.HeadClaim("")
	require.Greater(t, record.TokenNumber(t), first.TokenNumber(t))
	for _, name := range []string{"plain", "append", "mapped"} {
		next.OK(harness.Command{Op: "writefile", Path: m.At(name), Flags: unix.O_TRUNC, Data: []byte("written by the next")})
	}
	// What it had stored before was written back while its lease lasted, or never will be.
	idle := harness.ReadText(t, m.Behind("idle"))
	require.NotContains(t, idle, "AWAKE")
	require.Equal(t, string(harness.Body()[4096:]), idle[4096:])
	expectNext := func(m *harness.Mount, t *testing.T) { t.Helper(); expectNext(m, t, idle) }
	expectNext(m, t)

	sleeper.Resume()
	sleeper.Fails(harness.Command{Op: "write", Handle: "plain", Data: []byte("late")}, "EROFS")
	expectNext(m, t)
	sleeper.Fails(harness.Command{Op: "pwrite", Handle: "append", Data: []byte("late")}, "EROFS")
	sleeper.Fails(harness.Command{Op: "ftruncate", Handle: "plain"}, "EROFS")
	expectNext(m, t)
	wakeMapping(sleeper, "mapped")
	wakeMapping(sleeper, "idle")
	for _, name := range []string{"plain", "append"} {
		sleeper.Do(harness.Command{Op: "fsync", Handle: name})
		sleeper.Do(harness.Command{Op: "close", Handle: name})
		expectNext(m, t)
	}
	// The next one's view is undisturbed, too, and it still holds.
	for _, name := range []string{"plain", "append", "mapped"} {
		require.Equal(t, "written by the next", string(next.OK(harness.Command{Op: "readfile", Path: m.At(name)}).Data))
	}
	require.Equal(t, idle, string(next.OK(harness.Command{Op: "readfile", Path: m.At("idle")}).Data))
	sleeper.End()
	next.End()
	// What the kernel might still have kept comes out at the unmount.
	m.Unmount()
	expectNext(m, t)
}

// wakeMapping stores once more, and tries every way to get the page written.
// What each call says is the kernel's affair (the file may have lost the page
// meanwhile); what lands is ours.
func wakeMapping(a *harness.Actor, name string) {
	a.T.Helper()
	a.Do(harness.Command{Op: "store", Name: name, Data: []byte("SLEEPER AGAIN, AWAKE")})
	a.Do(harness.Command{Op: "msync", Name: name})
	a.Do(harness.Command{Op: "munmap", Name: name})
	a.Fails(harness.Command{Op: "pwrite", Handle: name, Data: []byte("late")}, "EROFS")
	a.Do(harness.Command{Op: "fsync", Handle: name})
	a.Do(harness.Command{Op: "close", Handle: name})
}

// expectNext demands the next holder's bytes, and only those, on the backing
// side; "idle" was touched by the sleeper alone and must be as it was when the next one came.
func expectNext(m *harness.Mount, t *testing.T, idle string) {
	t.Helper()
	for _, name := range []string{"plain", "append", "mapped"} {
		text, err := os.ReadFile(m.Behind(name))
		require.NoError(t, err)
		require.Equal(t, "written by the next", string(text), name)
	}
	text, err := os.ReadFile(m.Behind("idle"))
	require.NoError(t, err)
	require.Equal(t, idle, string(text), "idle")
}
