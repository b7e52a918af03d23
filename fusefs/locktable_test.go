package fusefs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
)

// lockBench is a table over one real file, with as many handles as a test wants.
type lockBench struct {
	t    *testing.T
	fs   *rawFS
	file string
	node *node
}

func newLockBench(t *testing.T, descriptors uint64) *lockBench {
	t.Helper()
	b := &lockBench{t: t, file: filepath.Join(t.TempDir(), "f")}
	require.NoError(t, os.WriteFile(b.file, nil, 0o600))
	fd, err := unix.Open(b.file, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	b.node = &node{id: 2, fd: fd}
	b.fs = &rawFS{procFD: proc, kernel: transport.Notifier{Dev: -1}, budget: newBudget(descriptors)}
	b.fs.locks = newLockTable(false, b.fs.budget)
	t.Cleanup(func() {
		b.fs.locks.close()
		require.Zero(t, b.fs.locks.count.Load())
		require.Empty(t, b.fs.locks.users)
		_ = unix.Close(fd)
		_ = unix.Close(proc)
	})
	return b
}

func (b *lockBench) handle(write bool) *handle { return &handle{node: b.node, fd: -1, write: write} }

func (b *lockBench) try(h *handle, owner uint64, uid uint32, s lockSpan) error {
	return b.fs.locks.try(b.fs, &lockRequest{key: lockKey{node: b.node, owner: owner}, span: s, via: h, uid: uid}, nil)
}

// native asks as another process would.
func (b *lockBench) native(s lockSpan) bool {
	b.t.Helper()
	f, err := os.OpenFile(b.file, os.O_RDWR, 0)
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, f.Close()) }()
	l := flockOf(s)
	require.NoError(b.t, unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l))
	return l.Type == unix.F_UNLCK
}

// A user's locks are bounded, and leave room for others'.
func TestLocksAreBounded(t *testing.T) {
	b := newLockBench(t, 512)
	h := b.handle(true)
	half := int(b.fs.locks.max / 2)
	read := lockSpan{0, 0, unix.F_RDLCK}
	for i := range half {
		require.NoError(t, b.try(h, uint64(i), 7, read))
	}
	require.Equal(t, unix.ENOLCK, b.try(h, 9999, 7, read))
	require.NoError(t, b.try(h, 9999, 8, read))
	b.fs.locks.flushed(b.node, 0)
	require.NoError(t, b.try(h, 10000, 7, read))
	b.fs.locks.released(h)
	require.Zero(t, b.fs.locks.count.Load())
	require.True(t, b.native(lockSpan{0, wholeFile, unix.F_WRLCK}))

	require.NoError(t, b.try(h, 1, 7, read))
	b.fs.locks.users[7].spans = lockSpansMax
	require.Equal(t, unix.ENOLCK, b.try(h, 1, 7, lockSpan{5, 5, unix.F_RDLCK}))
	require.NoError(t, b.try(h, 1, 7, lockSpan{0, 0, unix.F_UNLCK}))
}

// A process has shared locks through a read-only descriptor and takes an exclusive one through
// another. What it has stays all the while, and the file is never opened for writing for readers.
func TestASharedLockIsWidenedWithoutOpeningForWriting(t *testing.T) {
	b := newLockBench(t, 512)
	reads, writes := b.handle(false), b.handle(true)
	require.NoError(t, b.try(reads, 1, 0, lockSpan{0, 9, unix.F_RDLCK}))
	require.NoError(t, b.try(reads, 1, 0, lockSpan{20, 29, unix.F_RDLCK}))
	require.False(t, b.fs.locks.owners[lockKey{node: b.node, owner: 1}].write)
	require.NoError(t, b.try(writes, 1, 0, lockSpan{5, 6, unix.F_WRLCK}))
	for at, free := range map[uint64][2]bool{0: {true, false}, 5: {false, false}, 7: {true, false}, 15: {true, true}, 25: {true, false}} {
		require.Equal(t, free[0], b.native(lockSpan{at, at, unix.F_RDLCK}), at)
		require.Equal(t, free[1], b.native(lockSpan{at, at, unix.F_WRLCK}), at)
	}
	b.fs.locks.flushed(b.node, 1) // with any of them the process has closed the file
	require.True(t, b.native(lockSpan{0, wholeFile, unix.F_WRLCK}))
}

// Owners that come and go from all sides leave nothing.
func TestOwnersOfLocksThatEndLeaveNothing(t *testing.T) {
	b := newLockBench(t, 4096)
	var wg sync.WaitGroup
	for who := range uint64(8) {
		wg.Go(func() {
			h := b.handle(true)
			for i := range uint64(200) {
				_ = b.try(h, who, 0, lockSpan{i % 7, i%7 + 3, unix.F_WRLCK}) // somebody else may have it
				if i%5 == who%5 {
					b.fs.locks.flushed(b.node, who)
				}
			}
			b.fs.locks.released(h)
		})
	}
	wg.Wait()
	require.Zero(t, b.fs.locks.count.Load())
	require.True(t, b.native(lockSpan{0, wholeFile, unix.F_WRLCK}))
}

// The kernel reuses the number of an open file before the RELEASE of the closed one is handled. The
// new one's locks stay.
func TestLocksOfANewFileWithAReusedNumberStay(t *testing.T) {
	b := newLockBench(t, 512)
	key := lockKey{node: b.node, owner: 1, flock: true}
	flock := func(h *handle, kind uint32) error {
		r := &lockRequest{key: key, span: lockSpan{0, wholeFile, kind}, via: h}
		return b.fs.locks.try(b.fs, r, nil)
	}
	was, is := b.handle(true), b.handle(true)
	require.NoError(t, flock(was, unix.F_WRLCK))
	require.NoError(t, flock(is, unix.F_WRLCK))
	b.fs.locks.released(was)
	require.Len(t, b.fs.locks.owners, 1)
	require.Len(t, b.fs.locks.owners[key].spans, 1)
	require.NoError(t, flock(b.handle(true), unix.F_UNLCK)) // a third has locked nothing
	require.Empty(t, b.fs.locks.owners)

	// fcntl's locks may be a process's, with two open files, or those of two files that had
	// the same number.
	first, second := b.handle(true), b.handle(true)
	require.NoError(t, b.try(first, 2, 0, lockSpan{0, 24, unix.F_WRLCK}))
	require.NoError(t, b.try(second, 2, 0, lockSpan{20, 29, unix.F_WRLCK}))
	b.fs.locks.released(first)
	require.True(t, b.native(lockSpan{0, 19, unix.F_WRLCK}))
	require.False(t, b.native(lockSpan{20, 20, unix.F_RDLCK}))
	require.False(t, b.native(lockSpan{29, 29, unix.F_RDLCK}))
	b.fs.locks.released(second)
	require.True(t, b.native(lockSpan{0, wholeFile, unix.F_WRLCK}))
}
