package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// farStore is a file system that counts who looks for a name, and needs a millisecond for it, as one across a network does.
type farStore struct{ fuse.RawFileSystem }

var farLookups atomic.Int64 // of what this process serves

func (s farStore) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	farLookups.Add(1)
	time.Sleep(time.Millisecond)
	return s.RawFileSystem.Lookup(cancel, h, name, out)
}

func init() {
	harness.ActorOps["far serve"] = func(_ *harness.Stage, c harness.Command) error {
		root, err := fs.NewLoopbackRoot(c.Path)
		if err != nil {
			return err
		}
		server, err := fuse.NewServer(farStore{fs.NewNodeFS(root, &fs.Options{})}, c.To, &fuse.MountOptions{DirectMountStrict: true, FsName: "far", Name: "far"})
		if err != nil {
			return err
		}
		go server.Serve() // until it is unmounted
		return server.WaitMount()
	}
	harness.ActorOps["far lookups"] = func(s *harness.Stage, _ harness.Command) error {
		s.Vals = []int64{farLookups.Load()}
		return nil
	}
}

// On a store of several hosts each write is followed by a look for a successor. Writes that end at the same time share one.
func TestWritesShareTheirLooksForASuccessor(t *testing.T) {
	const writers, each = 16, 100
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: func(t testing.TB, dir string) {
		for i := range writers {
			require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644))
		}
	}})
	store, at := m.Source, filepath.Join(m.Base, "at")
	require.NoError(t, os.Mkdir(at, 0o755))
	server := harness.StartActor(t, "server")
	server.OK(harness.Command{Op: "far serve", Path: store, To: at})
	t.Cleanup(func() {
		m.Unmount() // before what it lies over
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	})
	m.Source, m.View, m.LockDir = at, at, filepath.Join(at, "control")
	m.Mount()
	before := server.OK(harness.Command{Op: "far lookups"}).Vals[0]
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c",
		`for i in $(seq 0 15); do dd if=/dev/zero of="$0/$i" bs=4k count=100 conv=notrunc status=none & done; wait`, m.Mountpoint)
	require.Zero(t, exit, errs)
	n := server.OK(harness.Command{Op: "far lookups"}).Vals[0] - before
	t.Logf("%d LOOKUPs for %d writes of %d writers", n, writers*each, writers)
	require.Less(t, n, int64(writers*each*3/4), "a look for each write alone")
}
