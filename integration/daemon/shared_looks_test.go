package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// farStore is a file system that needs a millisecond to look for a name, as one across a network does.
type farStore struct{ fuse.RawFileSystem }

func (s farStore) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	farLooks.look(name)
	if strings.HasPrefix(name, "made") {
		farMadeSeen.Add(1)
	}
	time.Sleep(time.Millisecond)
	st := s.RawFileSystem.Lookup(cancel, h, name, out)
	notesCoarse(name, out)
	return st
}

// Create and Open say that the file "direct" is for direct I/O, with which the kernel syncs nothing for O_DSYNC. It does not write past the
// server.
func (s farStore) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	st := s.RawFileSystem.Create(cancel, in, name, out)
	notesMade(name, out.NodeId)
	farSyncs.note(name, out.NodeId)
	if name == "direct" {
		farDirect.Store(out.NodeId)
		direct(&out.OpenOut)
	}
	return st
}

func (s farStore) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	st := s.RawFileSystem.Open(cancel, in, out)
	if in.NodeId == farDirect.Load() {
		direct(out)
	}
	return st
}

func direct(out *fuse.OpenOut) {
	out.OpenFlags = out.OpenFlags&^fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_DIRECT_IO
	out.BackingID = 0
}

func (s farStore) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	if in.NodeId == farDirect.Load() && farUnsynced.Swap(true) {
		farLost.Add(1)
	}
	return s.RawFileSystem.Writev(cancel, in, data)
}

func (s farStore) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if in.NodeId == farDirect.Load() {
		farUnsynced.Store(false)
	}
	if farSyncs.wait(in.NodeId) {
		return fuse.EIO
	}
	return s.RawFileSystem.Fsync(cancel, in)
}

var (
	farDirect   atomic.Uint64 // the inode of the file "direct"
	farUnsynced atomic.Bool   // something was written there, and not synced yet
	farLost     atomic.Int64  // how often something was written behind it nevertheless
)

func init() {
	operation.Add("far unsynced", func(s *operation.Box, _ operation.Command) error {
		s.Vals = []int64{farLost.Load(), int64(farDirect.Load())}
		return nil
	})
	operation.Add("far serve", func(_ *operation.Box, c operation.Command) error {
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
	})
}

// farLooks are the looks for a claim. They wait while they are held.
var farLooks heldLooks

type heldLooks struct {
	all  atomic.Int64
	mu   sync.Mutex
	over chan struct{} // nil: they are not held
}

func (l *heldLooks) look(name string) {
	if !strings.Contains(name, ".claim.") {
		return
	}
	l.all.Add(1)
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over != nil {
		<-over
	}
}

func (l *heldLooks) hold(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		close(l.over)
		l.over = nil
	}
	if yes {
		l.over = make(chan struct{})
	}
}

func init() {
	operation.Add("far looks", func(s *operation.Box, c operation.Command) error {
		s.Vals = []int64{farLooks.all.Load()}
		farLooks.hold(c.Flags != 0)
		return nil
	})
}

// On a store of several hosts each write is followed by a look for a successor. Writes that end while a look is under way share the next one.
// Who has written may not have asked yet when the look that is held goes on. So there are several tries: without sharing, none comes true.
func TestConcurrentWritesShareALookForASuccessor(t *testing.T) {
	const writers = 16
	m, server := farMount(t, func(t testing.TB, dir string) {
		for i := range writers {
			require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("before"), 0o644))
		}
	})
	m.MustCLI("lock", "acquire", "--scope", "mount", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
	var files []*os.File
	for i := range writers {
		f, err := os.OpenFile(m.At(strconv.Itoa(i)), os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close() // each write was answered
		files = append(files, f)
	}
	t.Cleanup(func() { server.OK(harness.Command{Op: "far looks"}) }) // or nothing ends after a failure
	try := 0
	harness.EventuallyNoted(t, "writes share their looks", func() (bool, string) {
		try++
		n := looksForWrites(m, server, files, fmt.Sprintf("%06d", try))
		return n <= writers/2, fmt.Sprintf("%d looks for %d writes", n, writers)
	})
	m.MustCLI("lock", "release", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
}

// looksForWrites writes to all files at once, while looks are held, and counts the looks.
func looksForWrites(m *harness.Mount, server *harness.Actor, files []*os.File, text string) int64 {
	m.T.Helper()
	before := server.OK(harness.Command{Op: "far looks", Flags: 1}).Vals[0]
	ended := make(chan error, len(files))
	for _, f := range files {
		go func() {
			_, err := f.WriteAt([]byte(text), 0)
			ended <- err
		}()
	}
	harness.Eventually(m.T, "all has been written", func() bool {
		return !slices.ContainsFunc(files, func(f *os.File) bool {
			return harness.ReadText(m.T, filepath.Join(m.Base, "source", filepath.Base(f.Name()))) != text
		})
	})
	server.OK(harness.Command{Op: "far looks"})
	for range files {
		require.NoError(m.T, <-ended)
	}
	return server.OK(harness.Command{Op: "far looks"}).Vals[0] - before
}

// Each write has reached the store before the next one is let in, also where the kernel does nothing for O_DSYNC.
func TestEachWriteReachesAStoreOfDirectIO(t *testing.T) {
	m, server := farMount(t, nil)
	for _, line := range []string{`dd if=/dev/zero of="$0/direct" bs=4k count=20 status=none`, `for i in 1 2 3 4 5; do echo $i; done >>"$0/direct"`} {
		_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", line, m.Mountpoint)
		require.Zero(t, exit, errs)
	}
	vals := server.OK(harness.Command{Op: "far unsynced"}).Vals
	require.NotZero(t, vals[1], "the file was made")
	require.Zero(t, vals[0], "writes whose predecessor had not reached the store")
}

// farMount is a mount over a farStore, and the actor that serves that.
func farMount(t *testing.T, prepare func(testing.TB, string)) (*harness.Mount, *harness.Actor) {
	t.Helper()
	m, server := farPrepared(t, prepare)
	m.Mount()
	return m, server
}

// farPrepared is farMount short of the mount itself.
func farPrepared(t *testing.T, prepare func(testing.TB, string)) (*harness.Mount, *harness.Actor) {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: prepare})
	store, at := m.Source, filepath.Join(m.Base, "at")
	require.NoError(t, os.Mkdir(at, 0o755))
	server := harness.StartActor(t, "server")
	server.OK(harness.Command{Op: "far serve", Path: store, To: at})
	t.Cleanup(func() {
		m.Unmount() // before what it lies over
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	})
	m.Source, m.View, m.LockDir = at, at, filepath.Join(at, "control")
	return m, server
}
