package integration

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// second mounts the same source once more, with a daemon of its own.
func (m *mount) second() *mount {
	m.t.Helper()
	n := *m
	n.Mountpoint = filepath.Join(m.base, "mnt2")
	require.NoError(m.t, os.Mkdir(n.Mountpoint, 0o755))
	n.mounted = false
	n.mount()
	m.t.Cleanup(n.unmount)
	return &n
}

func TestTwoMounts(t *testing.T) {
	for _, onFree := range []string{"deny", "acquire", "allow"} {
		t.Run(onFree, func(t *testing.T) {
			m := newMount(t, mountOptions{onFree: onFree, policy: hasty, prepare: withFiles("f", "g")})
			n := m.second()
			a, b := startActor(t, "a"), startActor(t, "b")
			first := m.acquire(a)
			// The first one has cached what the second will change.
			require.Equal(t, string(body()), string(a.ok(command{Op: "readfile", Path: m.At("f")}).Data))
			before := m.digest()
			for _, who := range []*actor{a, b} { // through the other mount the holder is nobody, too
				who.fails(n.put("f"), "EROFS")
				who.fails(n.put("new"), "EROFS")
				who.fails(command{Op: "mkdir", Path: n.At("d"), Mode: 0o755}, "EROFS")
				who.fails(n.move("f", "h"), "EROFS")
			}
			require.Empty(t, before.diff(m.digest()))
			exit, said := n.tryLock("acquire", b)
			require.Equal(t, exitConflict, exit, said)
			require.Contains(t, said, first.HolderID)
			a.ok(m.put("f"))

			m.release(a)
			var second record
			eventuallyNoted(t, "the second mount's writer acquires", func() (bool, string) {
				exit, said := n.tryLock("acquire", b)
				return exit == 0, said
			})
			_, second = n.headClaim("")
			require.Greater(t, second.token(t), first.token(t))
			m.seesWritesOf(t, n, a, b)
			a.fails(m.put("f"), "EROFS")
			n.release(b)
		})
	}
}

// explain through the second mount says who holds through the first, whatever
// a write does while the lease is free.
func TestTwoMountsExplain(t *testing.T) {
	for _, onFree := range []string{"deny", "acquire", "allow"} {
		t.Run(onFree, func(t *testing.T) {
			m := newMount(t, mountOptions{onFree: onFree, prepare: withFiles("f")})
			n := m.second()
			a, b := startActor(t, "a"), startActor(t, "b")
			first := m.acquire(a)
			b.fails(n.put("f"), "EROFS")
			require.Equal(t, "held_elsewhere", n.worktreeStatus("source").State)
			x, exit := n.explain(b.pid(), n.At("f"))
			assert.Equal(t, exitConflict, exit)
			assert.Equal(t, "E_LOCK_CONFLICT", x.Class)
			assert.Contains(t, x.Sentence, first.HolderID)
		})
	}
}

// staleFor is how long a mount may show what another has overwritten.
const staleFor = 2 * time.Second

// seesWritesOf lets b change things through n; a reads them through m, whose
// caches are warm, within staleFor.
func (m *mount) seesWritesOf(t *testing.T, n *mount, a, b *actor) {
	t.Helper()
	a.ok(command{Op: "readfile", Path: m.At("f")})
	a.ok(command{Op: "readfile", Path: m.At("g")})
	a.ok(command{Op: "open", Handle: "g", Path: m.At("g"), Flags: unix.O_RDONLY})
	a.fails(command{Op: "readfile", Path: m.At("made")}, "ENOENT")
	b.ok(command{Op: "writefile", Path: n.At("f"), Flags: unix.O_TRUNC, Data: []byte("by the second")})
	b.ok(command{Op: "writefile", Path: n.At("made"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("new")})
	b.ok(command{Op: "unlink", Path: n.At("g")})
	began := time.Now()
	for _, want := range [][2]string{{"f", "by the second"}, {"made", "new"}, {"g", ""}} {
		eventuallyNoted(t, "the first mount shows "+want[0], func() (bool, string) {
			r := a.do(command{Op: "readfile", Path: m.At(want[0])})
			return string(r.Data) == want[1] && (r.Errno == "ENOENT") == (want[0] == "g"), string(r.Data) + r.Errno
		})
		require.Less(t, time.Since(began), staleFor+time.Second/2, want[0])
	}
	a.ok(command{Op: "close", Handle: "g"})
}
