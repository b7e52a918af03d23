package fidelity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

func asks(l harness.Locker, kind int, off, length int64) string {
	if l.How == "flock" {
		return "-"
	}
	c := l.Command(kind, off, length)
	c.Mode = operation.LockAsks
	r := l.Do(c)
	return fmt.Sprint(r.Errno, r.Vals)
}

// lockStory is what two see of each other's locks: as text, to be compared.
func lockStory(a, b harness.Locker) (told []string) {
	tell := func(what string, said ...string) { told = append(told, fmt.Sprintf("%s: %q", what, said)) }
	for _, first := range []int{unix.F_RDLCK, unix.F_WRLCK} {
		for _, second := range []int{unix.F_RDLCK, unix.F_WRLCK} {
			tell("a", a.Try(first, 10, 10))
			tell("b asks", asks(b, second, 15, 100), asks(b, second, 20, 0), asks(b, second, 0, 10))
			tell("b inside", b.Try(second, 12, 2))
			tell("b beside", b.Try(second, 20, 5))
			tell("a asks", asks(a, unix.F_WRLCK, 0, 0))
			tell("a splits", a.Try(unix.F_UNLCK, 12, 2))
			tell("b in the gap", b.Try(unix.F_WRLCK, 12, 2))
			tell("a over the gap", a.Try(unix.F_RDLCK, 10, 5))
			tell("b all", b.Try(unix.F_WRLCK, 0, 0))
			tell("b gives back", b.Try(unix.F_UNLCK, 0, 0))
			tell("a up", a.Try(unix.F_WRLCK, 0, 0))
			tell("a down", a.Try(unix.F_RDLCK, 0, 0))
			tell("b reads", b.Try(unix.F_RDLCK, 5, 5))
			tell("a up against b", a.Try(unix.F_WRLCK, 0, 0))
			tell("b unlocks", b.Try(unix.F_UNLCK, 0, 0))
			tell("a unlocks", a.Try(unix.F_UNLCK, 0, 0))
		}
	}
	return told
}

// waitStory is how one waits for the other.
func waitStory(t *testing.T, a, b harness.Locker) {
	t.Helper()
	require.Empty(t, a.Try(unix.F_WRLCK, 0, 0))
	got := b.Waits(unix.F_WRLCK, 3, 4)
	b.Asleep()
	require.Empty(t, a.Try(unix.F_UNLCK, 0, 0))
	require.Empty(t, (<-got).Errno)
	require.Equal(t, "EAGAIN", a.Try(unix.F_RDLCK, 0, 0))
	b.Close() // without a word
	harness.Eventually(t, "a gets what b's close gave up", func() bool { return a.Try(unix.F_WRLCK, 0, 0) == "" })
	require.Empty(t, a.Try(unix.F_UNLCK, 0, 0))
}

// twoMountsAndNative are the ways to one directory: two mounts, where anybody may
// write, and none.
func twoMountsAndNative(t *testing.T, options ...string) (m *harness.Mount, ways map[string]func(string) string) {
	t.Helper()
	m = harness.NewMount(t, harness.MountOptions{OnFree: "allow", Extra: options, Prepare: harness.WithFiles("f")})
	n := m.Second()
	return m, map[string]func(string) string{
		"one":    func(name string) string { return m.At(name) },
		"two":    func(name string) string { return n.At(name) },
		"native": func(name string) string { return m.Behind(name) },
	}
}

func TestFileLocksHoldInEveryMountAndNatively(t *testing.T) {
	m, ways := twoMountsAndNative(t)
	plain := filepath.Join(m.Base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	hows := []string{"flock", "posix", "ofd"}
	for _, first := range hows {
		for _, second := range hows {
			name := first + "-" + second
			x, y := a.NewLocker(filepath.Join(plain, name), first), b.NewLocker(filepath.Join(plain, name), second)
			want := lockStory(x, y)
			x.Close()
			y.Close()
			for _, way := range [][2]string{{"one", "one"}, {"one", "two"}, {"one", "native"}, {"native", "one"}} {
				t.Run(name+"/"+way[0]+"-"+way[1], func(t *testing.T) {
					x := a.NewLocker(ways[way[0]](name), first)
					y := b.NewLocker(ways[way[1]](name), second)
					assert.Equal(t, want, lockStory(x, y))
					if (first == "flock") == (second == "flock") {
						waitStory(t, x, y)
					} else {
						y.Close()
					}
					x.Close()
				})
			}
		}
	}
}

// The close of any descriptor ends a process's POSIX locks; the others last until the
// last descriptor of their open file.
func TestFileLocksEndWithACloseAsNatively(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	for _, how := range []string{"flock", "posix", "ofd"} {
		x, y := a.NewLocker(ways["one"](how), how), b.NewLocker(ways["two"](how), how)
		require.Empty(t, x.Try(unix.F_WRLCK, 0, 0))
		a.OK(harness.Command{Op: "open", Handle: "other", Path: x.Path, Flags: unix.O_RDONLY})
		a.OK(harness.Command{Op: "close", Handle: "other"})
		want := "EAGAIN"
		if how == "posix" {
			want = ""
		}
		require.Equal(t, want, y.Try(unix.F_WRLCK, 0, 0), how)
		x.Close()
		y.Close()
	}
}

// A killed process leaves no lock, and a waiting process can be killed.
func TestAKilledProcessLeavesNoFileLock(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	b := harness.StartActor(t, "b")
	for _, how := range []string{"flock", "posix", "ofd"} {
		t.Run(how, func(t *testing.T) {
			a := harness.StartActor(t, "a")
			x, y := a.NewLocker(ways["one"](how), how), b.NewLocker(ways["two"](how), how)
			require.Empty(t, y.Try(unix.F_WRLCK, 0, 0))
			got := x.Waits(unix.F_WRLCK, 0, 0)
			x.Asleep()
			killed(a)
			require.Equal(t, "gone", (<-got).Errno)

			c := harness.StartActor(t, "c")
			z := c.NewLocker(ways["one"](how), how)
			require.Empty(t, y.Try(unix.F_UNLCK, 0, 0))
			require.Empty(t, z.Try(unix.F_WRLCK, 0, 0))
			got = y.Waits(unix.F_WRLCK, 0, 0)
			y.Asleep()
			killed(c)
			require.Empty(t, (<-got).Errno)
			y.Close()
		})
	}
}

// killed kills an actor, which must end at once.
func killed(a *harness.Actor) {
	a.T.Helper()
	require.NoError(a.T, a.Cmd.Process.Kill())
	_ = a.Cmd.Wait() // by the signal
}

// A lock that a script drops by ending is free for the next line of it.
func TestAFileLockIsFreeForTheNextCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f")})
	w := harness.Workshop{T: t, Dir: m.Mountpoint, Env: os.Environ()}
	w.OK("sh", "-c", "for i in $(seq 200); do flock -n lockfile true || exit 1; done")
	w.OK("perl", "-e", `use Fcntl ":flock"; for (1..300) { open(F, "+<", "f") or die; flock(F, LOCK_EX|LOCK_NB) or die "$_: $!"; close F; }`)
}

// A signal ends the wait, in whatever mount.
func TestASignalEndsAWaitForAFileLock(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	a := harness.StartActor(t, "a")
	for _, how := range []string{"flock", "posix"} {
		x := a.NewLocker(ways["one"](how), how)
		require.Empty(t, x.Try(unix.F_WRLCK, 0, 0))
		for _, way := range []string{"one", "two"} {
			waits := `fcntl(F, F_SETLKW, my $l = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0))`
			if how == "flock" {
				waits = "flock(F, LOCK_EX)"
			}
			w := harness.Workshop{T: t, Dir: "/", Env: os.Environ()}
			said := w.OK("perl", "-e", `use Fcntl ":DEFAULT", ":flock"; open(F, "+<", $ARGV[0]) or die; $SIG{ALRM} = sub { alarm 1 }; alarm 1; print `+waits+` ? "granted" : $!+0`, ways[way](how))
			require.Equal(t, fmt.Sprint(int(unix.EINTR)), said, "%s %s", how, way)
		}
		x.Close()
	}
}

// A process that would wait for itself through another process of the mount gets EDEADLK, with one file or two.
// Locks of open file descriptions wait, as natively.
func TestADeadlockOfFileLocksIsEDEADLK(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	for _, files := range [][2]string{{"f", "f"}, {"g", "h"}} {
		for _, way := range []string{"native", "one"} {
			ax, bx := a.NewLocker(ways[way](files[0]), "posix"), b.NewLocker(ways[way](files[0]), "posix")
			ay, by := ax, bx
			if files[0] != files[1] {
				ay, by = a.NewLocker(ways[way](files[1]), "posix"), b.NewLocker(ways[way](files[1]), "posix")
			}
			require.Empty(t, ax.Try(unix.F_WRLCK, 0, 1))
			require.Empty(t, by.Try(unix.F_WRLCK, 1, 1))
			got := ay.Waits(unix.F_WRLCK, 1, 1)
			ay.Asleep()
			require.Equal(t, "EDEADLK", (<-bx.Waits(unix.F_WRLCK, 0, 1)).Errno, way)
			require.Empty(t, by.Try(unix.F_UNLCK, 0, 0))
			require.Empty(t, (<-got).Errno)
			for _, l := range []harness.Locker{ax, bx} {
				l.Close()
			}
			if files[0] != files[1] {
				ay.Close()
				by.Close()
			}
		}
	}
	x, y := a.NewLocker(ways["one"]("ofd"), "ofd"), b.NewLocker(ways["one"]("ofd"), "ofd")
	require.Empty(t, x.Try(unix.F_WRLCK, 0, 1))
	require.Empty(t, y.Try(unix.F_WRLCK, 1, 1))
	got, other := x.Waits(unix.F_WRLCK, 1, 1), y.Waits(unix.F_WRLCK, 0, 1)
	x.Asleep()
	y.Asleep()
	select {
	case r := <-got:
		t.Fatal("a: ", r)
	case r := <-other:
		t.Fatal("b: ", r)
	default:
	}
	killed(b)
	require.Equal(t, "gone", (<-other).Errno)
	require.Empty(t, (<-got).Errno)
}

// F_GETLK names the process, of this mount or native.
func TestGetlkNamesTheProcess(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	for _, way := range []string{"one", "native"} {
		x, y := a.NewLocker(ways[way]("f"), "posix"), b.NewLocker(ways["one"]("f"), "posix")
		require.Empty(t, x.Try(unix.F_WRLCK, 5, 5))
		c := y.Command(unix.F_RDLCK, 0, 0)
		c.Mode = operation.LockAsks
		require.Equal(t, fmt.Sprint(a.PID()), string(y.OK(c).Data), way)
		x.Close()
		y.Close()
	}
}

// Locks end with the daemon that has them, and are to be had again after a recovery.
func TestFileLocksEndWithTheDaemonAndAreHadAgain(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	native := map[string]harness.Locker{}
	for _, how := range []string{"flock", "posix", "ofd"} {
		native[how] = b.NewLocker(m.Behind(how), how)
		require.Empty(t, a.NewLocker(m.At(how), how).Try(unix.F_WRLCK, 0, 0))
		require.Equal(t, "EAGAIN", native[how].Try(unix.F_WRLCK, 0, 0))
	}
	m.KillDaemon()
	for how, l := range native {
		harness.Eventually(t, how+": the daemon's files are closed", func() bool { return l.Try(unix.F_WRLCK, 0, 0) == "" })
		require.Empty(t, l.Try(unix.F_UNLCK, 0, 0), how)
	}
	m.Recover()
	for _, how := range []string{"flock", "posix", "ofd"} {
		a.Do(harness.Command{Op: "close", Handle: how + how})
		require.Empty(t, a.NewLocker(m.At(how), how).Try(unix.F_WRLCK, 0, 0))
		require.Equal(t, "EAGAIN", native[how].Try(unix.F_WRLCK, 0, 0))
	}
}

// A waiter is released when the mount is cut off.
func TestAWaiterForAFileLockIsReleasedByAnAbort(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	x, y := a.NewLocker(m.Behind("f"), "posix"), b.NewLocker(m.At("f"), "posix")
	require.Empty(t, x.Try(unix.F_WRLCK, 0, 0))
	got := y.Waits(unix.F_WRLCK, 0, 0)
	y.Asleep()
	m.Abort()
	require.Contains(t, []string{"ECONNABORTED", "ENOTCONN", "EINTR"}, (<-got).Errno)
	b.Do(harness.Command{Op: "close", Handle: y.Handle})
	m.Dead = true
}

// With file_locks mount they hold between those who come through the mount.
func TestFileLocksOfModeMountHoldWithinTheMount(t *testing.T) {
	m, ways := twoMountsAndNative(t, "--file-locks", "mount")
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	for _, how := range []string{"flock", "posix", "ofd"} {
		require.Empty(t, a.NewLocker(ways["one"](how), how).Try(unix.F_WRLCK, 0, 0))
		require.Equal(t, "EAGAIN", b.NewLocker(ways["one"](how), how).Try(unix.F_WRLCK, 0, 0))
		require.Empty(t, b.NewLocker(ways["native"](how), how).Try(unix.F_WRLCK, 0, 0))
	}
	require.Zero(t, m.Requests("SetLk")+m.Requests("SetLkw"))
}

// Every case of locks that the conformance run knows.
func TestFileLockCasesAreTheSameAsNatively(t *testing.T) {
	m := heldByThisProcess(t)
	var which []cases.Case
	for _, c := range cases.All() {
		if strings.HasPrefix(c.Name, "lock/") || strings.HasPrefix(c.Name, "lease/") {
			which = append(which, c)
		}
	}
	require.NotEmpty(t, which)
	m.RequireFidelity(t, which)
}

// A process that gets a lock sees the changes of the process before: the content, the size, and that a name
// beside it is gone, even if it had cached others.
func TestAFileLockShowsTheChangesOfTheProcessBefore(t *testing.T) {
	_, ways := twoMountsAndNative(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	for _, how := range []string{"flock", "posix"} {
		for _, writer := range []string{"two", "native"} {
			x, y := a.NewLocker(ways[writer]("f"), how), b.NewLocker(ways["one"]("f"), how)
			y.Close()
			b.OK(harness.Command{Op: "open", Handle: y.Handle, Path: y.Path, Flags: unix.O_RDONLY})
			require.Empty(t, x.Try(unix.F_WRLCK, 0, 0))
			for i := range 50 {
				text := strings.Repeat(fmt.Sprintf("%03d ", i), 1+i%7*100)
				a.OK(harness.Command{Op: "writefile", Path: ways[writer]("journal"), Flags: unix.O_CREAT, Mode: 0o666, Data: []byte("j")})
				b.OK(harness.Command{Op: "readfile", Path: ways["one"]("journal")})
				b.OK(harness.Command{Op: "readfile", Path: y.Path}) // keeps pages
				a.OK(harness.Command{Op: "ftruncate", Handle: x.Handle})
				a.OK(harness.Command{Op: "pwrite", Handle: x.Handle, Data: []byte(text)})
				a.OK(harness.Command{Op: "unlink", Path: ways[writer]("journal")})
				require.Empty(t, x.Try(unix.F_UNLCK, 0, 0))
				require.Empty(t, y.Try(unix.F_RDLCK, 0, 0))
				require.Equal(t, text, string(b.OK(harness.Command{Op: "pread", Handle: y.Handle, Len: 4096}).Data), "%s %s %d", how, writer, i)
				require.EqualValues(t, len(text), b.OK(harness.Command{Op: "fstat", Handle: y.Handle}).Vals[4], "%s %s %d: size", how, writer, i)
				b.Fails(harness.Command{Op: "readfile", Path: ways["one"]("journal")}, "ENOENT")
				require.Empty(t, y.Try(unix.F_UNLCK, 0, 0))
				require.Empty(t, x.Try(unix.F_WRLCK, 0, 0))
			}
			require.Empty(t, x.Try(unix.F_UNLCK, 0, 0)) // a close alone drops it a moment later elsewhere
			x.Close()
			y.Close()
		}
	}
}
