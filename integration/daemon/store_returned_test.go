package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// returning is a mount over a farStore whose client can end and be started again.
type returning struct {
	*harness.Mount
	t      *testing.T
	server *harness.Actor
	serve  harness.Command // of the client, but for the place
}

func newReturning(t *testing.T) *returning {
	t.Helper()
	r := &returning{t: t}
	r.Mount, r.server = farPrepared(t, func(t testing.TB, dir string) {
		r.serve = harness.Command{Op: "far serve", Path: dir}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("before\n"), 0o644))
	})
	return r
}

// ofThisHost makes it a mount over a FUSE that shows a directory of this host, with records beside that.
func (r *returning) ofThisHost() {
	r.t.Helper()
	r.end()
	r.serve = harness.Command{Op: "named serve", Path: r.serve.Path, Name: "bindfs"}
	r.again()
	r.LockDir = filepath.Join(r.Base, "control")
}

// end ends the client, and takes its mount away. The empty mount point stays.
func (r *returning) end() {
	r.t.Helper()
	r.server.End()
	require.NoError(r.t, unix.Unmount(r.Source, unix.MNT_DETACH))
}

// again starts another client at the same place.
func (r *returning) again() {
	r.t.Helper()
	r.server = harness.StartActor(r.t, "server again")
	serve := r.serve
	serve.To = r.Source
	r.server.OK(serve)
}

// awaitNext waits until another daemon serves than before, and no other mount is left at the place.
func (r *returning) awaitNext(before []int) {
	r.t.Helper()
	harness.EventuallyNoted(r.t, "the mount is served by another daemon", func() (bool, string) {
		text, err := os.ReadFile(r.At("f"))
		now := r.Daemons()
		return err == nil && string(text) == "before\n" && len(now) == 1 && !slices.Equal(now, before), fmt.Sprint(now, " after ", before, ": ", err)
	})
	require.Len(r.t, stack(r.Mount), 1, "the dead mount is gone")
}

// When the client of the store was started again, the mount serves again by itself. The lease of before is lost, to its holder as to
// everybody else: its record stays unreleased until it has run out. It makes no difference whose the file system is.
func TestAStoreThatComesBackIsServedAgain(t *testing.T) {
	t.Run("several hosts", func(t *testing.T) { comesBack(t, newReturning(t)) })
	t.Run("this host", func(t *testing.T) {
		m := newReturning(t)
		m.ofThisHost()
		comesBack(t, m)
	})
}

func comesBack(t *testing.T, m *returning) {
	m.Opts.Policy = harness.Hasty
	m.Mount.Mount()
	before := m.Daemons()
	a := harness.StartActor(t, "holder")
	held := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "h", Path: m.At("f"), Flags: unix.O_RDWR})

	m.end()
	a.Fails(m.Put("g"), "ENOTCONN", "EROFS")
	require.Equal(t, before, m.Daemons(), "an empty mount point is not the store")

	m.again()
	m.awaitNext(before)
	a.Fails(harness.Command{Op: "write", Handle: "h", Data: []byte("late")}, "ENOTCONN", "ECONNABORTED")
	a.Fails(m.Put("g"), "EROFS")
	_, r := m.HeadClaim("")
	require.Equal(t, held.Token, r.Token)
	require.False(t, r.Released, "nobody has given it back")
	b := harness.StartActor(t, "next")
	harness.EventuallyNoted(t, "the lease has run out", func() (bool, string) {
		_, errs, exit := m.CLI(harness.LockArgs("acquire", b, m.Mountpoint)...)
		return exit == 0, errs
	})
	b.OK(m.Put("g"))
	a.Fails(m.Put("g"), "EROFS")
	m.Unmount()
}

// In the foreground the daemon ends with a failure, so that a service manager starts it again: with --recover, as the unit of the package has it.
func TestAServiceServesAStoreThatComesBack(t *testing.T) {
	m := newReturning(t)
	service := func() *harness.Background {
		b := m.Start(m.Bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--foreground", "--recover")
		m.Mounted, m.WasMounted = true, true
		harness.EventuallyNoted(t, "it serves", func() (bool, string) {
			text, err := os.ReadFile(m.At("f"))
			return string(text) == "before\n", fmt.Sprint(err)
		})
		return b
	}
	first := service()
	before := m.Daemons()
	m.end()
	m.again()
	exit, said := first.Wait()
	require.Equal(t, 15, exit, said)
	require.Contains(t, said, "the client of the store was started again")
	require.Contains(t, said, "jvsfs recover "+m.Mountpoint)
	next := service()
	m.awaitNext(before)
	m.Unmount()
	exit, said = next.Wait()
	require.Zero(t, exit, said)
}

// As long as the client that the mount rests on lives, another one that covers it changes nothing.
func TestAStoreThatIsCoveredIsServedOn(t *testing.T) {
	m := newReturning(t)
	m.Mount.Mount()
	before, first := m.Daemons(), m.server
	a := harness.StartActor(t, "holder")
	m.Acquire(a)
	m.again()
	other := filepath.Join(m.Base, "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	for range 30 { // the daemon looks at each change of the mounts
		require.NoError(t, unix.Mount(other, other, "", unix.MS_BIND, ""))
		require.NoError(t, unix.Unmount(other, unix.MNT_DETACH))
		a.OK(m.Put("g"))
	}
	require.Equal(t, before, m.Daemons())

	first.Stop() // a client that does not answer is not dead
	harness.Eventually(t, "the daemon waits for it", func() bool { return waitsForFUSE(t, before[0]) })
	require.Equal(t, before, m.Daemons())

	first.End() // while the other one covers it: no mount changes any more
	m.awaitNext(before)
	m.Unmount()
	require.NoError(t, unix.Unmount(m.Source, unix.MNT_DETACH))
}

// waitsForFUSE is whether a thread of a process waits for the server of a FUSE file system.
func waitsForFUSE(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/wchan")
	require.NoError(t, err)
	return slices.ContainsFunc(threads, func(file string) bool {
		where, err := os.ReadFile(file)
		return err == nil && string(where) == "request_wait_answer"
	})
}

// When the store ends again before the next daemon serves, what is at its place is its bare mount point. The mount stays dead, nothing is made
// there, and it serves when the store is there for good.
func TestAStoreThatEndsAgainIsServedLater(t *testing.T) {
	m := newReturning(t)
	m.Mount.Mount()
	before := m.Daemons()
	lock, err := os.OpenFile("/run/jvsfs/recover.lock", os.O_RDWR|os.O_CREATE, 0o600) // as the recovery of another mount
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	m.end()
	m.again()
	harness.Eventually(t, "the daemon has left", func() bool { return !slices.Equal(m.Daemons(), before) })
	m.end()
	require.NoError(t, lock.Close())
	harness.Eventually(t, "the next one finds no store", func() bool {
		return strings.Contains(m.LogTail(), "is not on the file system any more")
	})
	left, err := os.ReadDir(m.Source)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = os.ReadFile(m.At("f"))
	require.ErrorIs(t, err, unix.ENOTCONN)
	m.again()
	m.awaitNext(before)
	m.Unmount()
}

// A lease goes on after a kill of the daemon, if the store's client is still the one through which it was held. A mount that has got the number
// of the store's former one is another one.
func TestALeaseGoesOnAfterAKillIfTheStoresClientIsTheSame(t *testing.T) {
	for name, remounted := range map[string]bool{"as it was": false, "mounted again": true} {
		t.Run(name, func(t *testing.T) {
			m := newReturning(t)
			m.Mount.Mount()
			a := harness.StartActor(t, "holder")
			held := m.Acquire(a)
			m.KillDaemon()
			if remounted {
				m.end() // nobody keeps its number any more
				m.again()
			}
			m.Recover()
			if remounted {
				a.Fails(m.Put("g"), "EROFS")
			} else {
				a.OK(m.Put("g"))
			}
			_, r := m.HeadClaim("")
			require.Equal(t, held.Token, r.Token)
			m.Unmount()
		})
	}
}
