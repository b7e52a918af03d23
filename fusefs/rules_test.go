package fusefs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// bookOf is a book of rules. opens opens a maintenance window over all, for a process.
func bookOf(t *testing.T, specs ...lockfile.Spec) (book *tenure.Book, opens func(pid int) *tenure.Window) {
	t.Helper()
	rules, mistakes := lockfile.Compile(specs)
	require.Empty(t, mistakes)
	exits, err := process.NewExitWatch()
	require.NoError(t, err)
	clock := lease.SystemClock()
	resolver := gate.NewResolver(clock)
	book = tenure.New(tenure.Config{
		Rules: rules, Worktree: "tree", Enforcement: gate.NewEnforcement(gate.Enforcing), Resolver: resolver, Exits: exits, Clock: clock, Errno: syscall.EROFS,
	})
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = exits.Run(ctx) })
	all.Go(func() { _ = book.Run(ctx) })
	t.Cleanup(func() {
		book.EndWindows()
		end()
		all.Wait()
		resolver.Close()
		require.NoError(t, exits.Close())
	})
	return book, func(pid int) *tenure.Window {
		t.Helper()
		by := process.Caller{TID: uint32(pid)}
		h, err := resolver.LockHolder(by, lockfile.Tree)
		require.NoError(t, err)
		w, err := book.Open(t.Context(), tenure.Opening{IsDir: true, Holder: h, Lasts: time.Hour, By: by, Record: func(tenure.WindowView) error { return nil }})
		require.NoError(t, err)
		return w
	}
}

// A window's gate is one where a change may wait. So it is entered before the change holds the repository of git, or JVS's snapshots, which
// others need. A build with the race detector ends otherwise.
func TestAWindowIsEnteredBeforeWhatIsHeld(t *testing.T) {
	for what, c := range map[string]struct {
		layout layout.Name
		file   string
	}{
		"the repository of git": {layout.Git, ".git/logs/x"},
		"snapshots of JVS":      {layout.JVS, ".jvs/snapshots/1/x"},
	} {
		t.Run(what, func(t *testing.T) {
			book, opens := bookOf(t, lockfile.Spec{Name: "log", Append: []string{c.file}}, lockfile.Spec{Name: "made", Once: []string{c.file + "-new"}})
			m := mounted(t, c.layout, func(source string) {
				for _, name := range []string{c.file, ".git/HEAD", "main/f"} {
					path := filepath.Join(source, name)
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
					require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o644))
				}
			}, func(o *Options) { o.Locks = book })
			m.hold(t, "tree", 1)
			grows, err := os.OpenFile(m.at(c.file), os.O_RDWR, 0)
			require.NoError(t, err)
			defer grows.Close()
			made, err := os.Create(m.at(c.file + "-new"))
			require.NoError(t, err)
			defer made.Close()
			_, err = grows.WriteAt([]byte("x"), 2)
			require.ErrorIs(t, err, syscall.EROFS, "below the end, without a window")
			w := opens(os.Getpid())
			for _, change := range []func() error{
				func() error { _, err := grows.WriteAt([]byte("x"), 2); return err },
				func() error { return grows.Truncate(5) }, // by its handle
				func() error { _, err := made.Write([]byte("x")); return err },
				func() error { return syscall.Fallocate(int(grows.Fd()), 0, 0, 20) },
			} {
				require.NoError(t, change())
			}
			w.Close(process.Caller{})
			other := exec.Command("sleep", "1000")
			require.NoError(t, other.Start())
			defer func() { _, _ = other.Process.Kill(), other.Wait() }()
			w = opens(other.Process.Pid)
			for _, f := range []*os.File{grows, made} {
				_, err = f.WriteAt([]byte("x"), 30)
				require.ErrorIs(t, err, syscall.EROFS, "in a window of somebody else")
			}
			w.Close(process.Caller{})
			_, err = grows.WriteAt([]byte("x"), 30)
			require.NoError(t, err)
		})
	}
}
