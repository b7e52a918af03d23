package flock

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// bench is a table over one real file, with as many open files as a test wants.
type bench struct {
	*Table
	t     *testing.T
	file  string
	inode int
	last  atomic.Uint64 // number of an open file
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, file: filepath.Join(t.TempDir(), "f")}
	require.NoError(t, os.WriteFile(b.file, nil, 0o600))
	fd, err := unix.Open(b.file, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	b.inode, b.Table = fd, New(96, proc)
	t.Cleanup(func() {
		b.Close()
		require.Zero(t, b.Count.Load())
		require.Empty(t, b.users)
		require.Nil(t, b.known(benchFile), "what is not locked is forgotten")
		_ = unix.Close(fd)
		_ = unix.Close(proc)
	})
	return b
}

const benchFile = 2

func (b *bench) opened(write bool) Open {
	return Open{Number: b.last.Add(1), FD: -1, Inode: b.inode, Write: write}
}

func (b *bench) lock(h Open, number uint64, uid uint32, s Span) error {
	return b.try(&Request{Owner: Owner{File: benchFile, Number: number}, Span: s, Open: h, UID: uid}, nil)
}

// native asks as another process would.
func (b *bench) native(s Span) bool {
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
	b := newBench(t)
	h := b.opened(true)
	half := int(b.max / 2)
	read := Span{0, 0, unix.F_RDLCK}
	for i := range half {
		require.NoError(t, b.lock(h, uint64(i), 7, read))
	}
	require.Equal(t, unix.ENOLCK, b.lock(h, 9999, 7, read))
	require.NoError(t, b.lock(h, 9999, 8, read))
	b.Flushed(0, benchFile, 0)
	require.NoError(t, b.lock(h, 10000, 7, read))
	b.Released(h.Number)
	require.Zero(t, b.Count.Load())
	require.True(t, b.native(Span{0, WholeFile, unix.F_WRLCK}))

	require.NoError(t, b.lock(h, 1, 7, read))
	b.users[7].spans = spansMax
	require.Equal(t, unix.ENOLCK, b.lock(h, 1, 7, Span{5, 5, unix.F_RDLCK}))
	require.NoError(t, b.lock(h, 1, 7, Span{0, 0, unix.F_UNLCK}))
}

// A process has shared locks through a read-only descriptor and takes an exclusive one through
// another. What it has stays all the while, and the file is never opened for writing for readers.
func TestASharedLockIsWidenedWithoutOpeningForWriting(t *testing.T) {
	b := newBench(t)
	reads, writes := b.opened(false), b.opened(true)
	require.NoError(t, b.lock(reads, 1, 0, Span{0, 9, unix.F_RDLCK}))
	require.NoError(t, b.lock(reads, 1, 0, Span{20, 29, unix.F_RDLCK}))
	require.False(t, b.owners[Owner{File: benchFile, Number: 1}].write)
	require.NoError(t, b.lock(writes, 1, 0, Span{5, 6, unix.F_WRLCK}))
	for at, free := range map[uint64][2]bool{0: {true, false}, 5: {false, false}, 7: {true, false}, 15: {true, true}, 25: {true, false}} {
		require.Equal(t, free[0], b.native(Span{at, at, unix.F_RDLCK}), at)
		require.Equal(t, free[1], b.native(Span{at, at, unix.F_WRLCK}), at)
	}
	b.Flushed(0, benchFile, 1) // with any of them the process has closed the file
	require.True(t, b.native(Span{0, WholeFile, unix.F_WRLCK}))
}

// Owners that come and go from all sides leave nothing.
func TestOwnersOfLocksThatEndLeaveNothing(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for who := range uint64(8) {
		wg.Go(func() {
			h := b.opened(true)
			for i := range uint64(200) {
				_ = b.lock(h, who, 0, Span{i % 7, i%7 + 3, unix.F_WRLCK}) // somebody else may have it
				if i%5 == who%5 {
					b.Flushed(0, benchFile, who)
				}
			}
			b.Released(h.Number)
		})
	}
	wg.Wait()
	require.Zero(t, b.Count.Load())
	require.True(t, b.native(Span{0, WholeFile, unix.F_WRLCK}))
}

// The kernel reuses the number of an open file before the RELEASE of the closed one is handled. The new one's locks stay.
func TestLocksOfANewFileWithAReusedNumberStay(t *testing.T) {
	b := newBench(t)
	who := Owner{File: benchFile, Number: 1, Flock: true}
	flock := func(h Open, kind uint32) error {
		return b.try(&Request{Owner: who, Span: Span{0, WholeFile, kind}, Open: h}, nil)
	}
	was, is := b.opened(true), b.opened(true)
	require.NoError(t, flock(was, unix.F_WRLCK))
	require.NoError(t, flock(is, unix.F_WRLCK))
	b.Released(was.Number)
	require.Len(t, b.owners, 1)
	require.Len(t, b.owners[who].spans, 1)
	require.NoError(t, flock(b.opened(true), unix.F_UNLCK)) // a third has locked nothing
	require.Empty(t, b.owners)

	// fcntl's locks may be a process's, with two open files, or those of two files that had the same number.
	first, second := b.opened(true), b.opened(true)
	require.NoError(t, b.lock(first, 2, 0, Span{0, 24, unix.F_WRLCK}))
	require.NoError(t, b.lock(second, 2, 0, Span{20, 29, unix.F_WRLCK}))
	b.Released(first.Number)
	require.True(t, b.native(Span{0, 19, unix.F_WRLCK}))
	require.False(t, b.native(Span{20, 20, unix.F_RDLCK}))
	require.False(t, b.native(Span{29, 29, unix.F_RDLCK}))
	b.Released(second.Number)
	require.True(t, b.native(Span{0, WholeFile, unix.F_WRLCK}))
}

// Who would wait for himself is told so, and the others get their turn.
func TestACircleOfWaitersIsTold(t *testing.T) {
	b := newBench(t)
	h := b.opened(true)
	request := func(number, at uint64) *Request {
		return &Request{Owner: Owner{File: benchFile, Number: number}, Span: Span{at, at, unix.F_WRLCK}, Open: h}
	}
	require.NoError(t, b.SetWait(nil, request(1, 1)))
	require.NoError(t, b.SetWait(nil, request(2, 2)))
	first := make(chan error)
	go func() { first <- b.SetWait(nil, request(1, 2)) }()
	for !b.isWaiting() {
		runtime.Gosched()
	}
	require.Equal(t, unix.EDEADLK, b.SetWait(nil, request(2, 1)))
	b.Flushed(h.Number, benchFile, 2)
	require.NoError(t, <-first)
	require.False(t, b.isWaiting())
}

func (b *bench) isWaiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waits > 0
}

// Who asks while another process may just close the file waits a moment for its RELEASE, and less each time that it does not come.
func TestALockWhoseFileIsBeingClosedIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		has, asks := b.opened(true), b.opened(true)
		whole := Span{0, WholeFile, unix.F_WRLCK}
		require.NoError(t, b.lock(has, 1, 0, whole))
		r := &Request{Owner: Owner{File: benchFile, Number: 2}, Span: whole, Open: asks}
		done, err := b.Now(r, false)
		require.True(t, done, "nothing tells of a close")
		require.Equal(t, unix.EAGAIN, err)
		for n := range 3 {
			b.Flushed(has.Number, benchFile, 3) // another process that has it open
			done, _ = b.Now(r, false)
			require.False(t, done)
			began := time.Now()
			require.Equal(t, unix.EAGAIN, b.Set(nil, r))
			require.Equal(t, closeGrace>>n, time.Since(began))
		}
		b.Flushed(has.Number, benchFile, 3)
		var released sync.WaitGroup
		released.Go(func() {
			time.Sleep(time.Millisecond)
			b.Released(has.Number)
		})
		require.NoError(t, b.Set(nil, r))
		released.Wait()
	})
}
