package integration

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPausedHolder is the story that leases alone cannot tell well: the holder
// sleeps with open descriptors and a dirty mapping, another takes over and
// writes, and the first wakes up, knowing nothing. Nothing of it may land.
func TestPausedHolder(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, onFree: "deny", prepare: withFiles("plain", "append", "mapped", "idle")})
	sleeper, next := startActor(t, "sleeper"), startActor(t, "next")
	first := m.acquire(sleeper)
	sleeper.ok(command{Op: "open", Handle: "plain", Path: m.At("plain"), Flags: unix.O_RDWR})
	sleeper.ok(command{Op: "open", Handle: "append", Path: m.At("append"), Flags: unix.O_WRONLY | unix.O_APPEND})
	for _, name := range []string{"mapped", "idle"} {
		sleeper.ok(command{Op: "open", Handle: name, Path: m.At(name), Flags: unix.O_RDWR})
		sleeper.ok(command{Op: "mmap", Handle: name, Name: name, Len: 8192})
		sleeper.ok(command{Op: "store", Name: name, Data: []byte("SLEEPER'S DIRTY PAGE")})
	}
	sleeper.stop()

	m.steal(next)
	_, record := m.headClaim("")
	require.Greater(t, record.token(t), first.token(t))
	for _, name := range []string{"plain", "append", "mapped"} {
		next.ok(command{Op: "writefile", Path: m.At(name), Flags: unix.O_TRUNC, Data: []byte("written by the next")})
	}
	m.expectNext(t)

	sleeper.resume()
	sleeper.fails(command{Op: "write", Handle: "plain", Data: []byte("late")}, "EROFS")
	m.expectNext(t)
	sleeper.fails(command{Op: "pwrite", Handle: "append", Data: []byte("late")}, "EROFS")
	sleeper.fails(command{Op: "ftruncate", Handle: "plain"}, "EROFS")
	m.expectNext(t)
	sleeper.wakeMapping("mapped")
	sleeper.wakeMapping("idle")
	for _, name := range []string{"plain", "append"} {
		sleeper.do(command{Op: "fsync", Handle: name})
		sleeper.do(command{Op: "close", Handle: name})
		m.expectNext(t)
	}
	// The next one's view is undisturbed, too, and it still holds.
	for _, name := range []string{"plain", "append", "mapped"} {
		require.Equal(t, "written by the next", string(next.ok(command{Op: "readfile", Path: m.At(name)}).Data))
	}
	require.Equal(t, string(body()), string(next.ok(command{Op: "readfile", Path: m.At("idle")}).Data))
	sleeper.end()
	next.end()
	// What the kernel might still have kept comes out at the unmount.
	m.unmount()
	m.expectNext(t)
}

// wakeMapping stores once more, and tries every way to get the page written.
// What each call says is the kernel's affair (the file may have lost the page
// meanwhile); what lands is ours.
func (a *actor) wakeMapping(name string) {
	a.t.Helper()
	a.do(command{Op: "store", Name: name, Data: []byte("SLEEPER AGAIN, AWAKE")})
	a.do(command{Op: "msync", Name: name})
	a.do(command{Op: "munmap", Name: name})
	a.fails(command{Op: "pwrite", Handle: name, Data: []byte("late")}, "EROFS")
	a.do(command{Op: "fsync", Handle: name})
	a.do(command{Op: "close", Handle: name})
}

// expectNext demands the next holder's bytes, and only those, on the backing
// side; "idle" was touched by the sleeper alone and must be as prepared.
func (m *mount) expectNext(t *testing.T) {
	t.Helper()
	for _, name := range []string{"plain", "append", "mapped"} {
		text, err := os.ReadFile(m.Behind(name))
		require.NoError(t, err)
		require.Equal(t, "written by the next", string(text), name)
	}
	text, err := os.ReadFile(m.Behind("idle"))
	require.NoError(t, err)
	require.Equal(t, string(body()), string(text), "idle")
}
