package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestTheHolderOfOneMountIsRefusedInAnother(t *testing.T) {
	for _, onFree := range []string{"deny", "acquire", "allow"} {
		t.Run(onFree, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: onFree, Policy: harness.Hasty, Prepare: harness.WithFiles("f", "g")})
			n := m.Second()
			a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
			first := m.Acquire(a)
			// The first one has cached what the second will change.
			require.Equal(t, string(harness.Body()), string(a.OK(harness.Command{Op: "readfile", Path: m.At("f")}).Data))
			before := m.Digest()
			for _, who := range []*harness.Actor{a, b} { // through the other mount the holder is nobody, too
				who.Fails(n.Put("f"), "EROFS")
				who.Fails(n.Put("new"), "EROFS")
				who.Fails(harness.Command{Op: "mkdir", Path: n.At("d"), Mode: 0o755}, "EROFS")
				who.Fails(n.Move("f", "h"), "EROFS")
			}
			require.Empty(t, before.Diff(m.Digest()))
			exit, said := n.TryLock("acquire", b)
			require.Equal(t, harness.ExitConflict, exit, said)
			require.Contains(t, said, first.HolderID)
			a.OK(m.Put("f"))

			m.Release(a)
			var second harness.Record
			harness.EventuallyNoted(t, "the second mount's writer acquires", func() (bool, string) {
				exit, said := n.TryLock("acquire", b)
				return exit == 0, said
			})
			_, second = n.HeadClaim("")
			require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
			seesWritesOf(m, t, n, a, b)
			a.Fails(m.Put("f"), "EROFS")
			n.Release(b)
		})
	}
}

// explain through the second mount says who holds through the first, whatever
// a write does while the lease is free.
func TestExplainNamesTheHolderInAnotherMount(t *testing.T) {
	for _, onFree := range []string{"deny", "acquire", "allow"} {
		t.Run(onFree, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: onFree, Prepare: harness.WithFiles("f")})
			n := m.Second()
			a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
			first := m.Acquire(a)
			b.Fails(n.Put("f"), "EROFS")
			require.Equal(t, "held_elsewhere", n.WorktreeStatus("source").State)
			x, exit := n.Explain(b.PID(), n.At("f"))
			assert.Equal(t, harness.ExitConflict, exit)
			assert.Equal(t, "E_LOCK_CONFLICT", x.Class)
			assert.Contains(t, x.Sentence, first.HolderID)
		})
	}
}

// staleFor is how long a mount may show what another has overwritten.
const staleFor = 2 * time.Second

// seesWritesOf lets b change things through n; a reads them through m, whose
// caches are warm, within staleFor.
func seesWritesOf(m *harness.Mount, t *testing.T, n *harness.Mount, a, b *harness.Actor) {
	t.Helper()
	a.OK(harness.Command{Op: "readfile", Path: m.At("f")})
	a.OK(harness.Command{Op: "readfile", Path: m.At("g")})
	a.OK(harness.Command{Op: "open", Handle: "g", Path: m.At("g"), Flags: unix.O_RDONLY})
	a.Fails(harness.Command{Op: "readfile", Path: m.At("made")}, "ENOENT")
	b.OK(harness.Command{Op: "writefile", Path: n.At("f"), Flags: unix.O_TRUNC, Data: []byte("by the second")})
	b.OK(harness.Command{Op: "writefile", Path: n.At("made"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("new")})
	b.OK(harness.Command{Op: "unlink", Path: n.At("g")})
	began := time.Now()
	for _, want := range [][2]string{{"f", "by the second"}, {"made", "new"}, {"g", ""}} {
		harness.EventuallyNoted(t, "the first mount shows "+want[0], func() (bool, string) {
			asked := time.Since(began)
			r := a.Do(harness.Command{Op: "readfile", Path: m.At(want[0])})
			shows := string(r.Data) == want[1] && (r.Errno == "ENOENT") == (want[0] == "g")
			if !shows { // when the answer comes is the machine's business
				require.Less(t, asked, staleFor+time.Second/10, "%s is still as it was", want[0])
			}
			return shows, string(r.Data) + r.Errno
		})
	}
	a.OK(harness.Command{Op: "close", Handle: "g"})
}
