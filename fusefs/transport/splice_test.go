package transport

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spliceBench is a splicer with a file to read from and a pipe in the place of
// /dev/fuse.
type spliceBench struct {
	splicer
	content []byte
	file    *os.File
	dev     [2]*os.File
}

func newSpliceBench(t *testing.T) *spliceBench {
	b := &spliceBench{content: make([]byte, 2*MaxRead+777)}
	_, _ = rand.Read(b.content)
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, b.content, 0o600))
	var err error
	b.file, err = os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	b.dev[0], b.dev[1], err = os.Pipe()
	require.NoError(t, err)
	_, err = unix.FcntlInt(b.dev[1].Fd(), unix.F_SETPIPE_SZ, pipeSize)
	require.NoError(t, err)
	t.Cleanup(func() {
		b.close()
		for _, f := range []*os.File{b.file, b.dev[0], b.dev[1]} {
			_ = f.Close()
		}
	})
	return b
}

func (b *spliceBench) answer(off int64, size int) (bool, error) {
	return b.send(int(b.dev[1].Fd()), 42, int(b.file.Fd()), off, size)
}

// heard is what the kernel's side has got.
func (b *spliceBench) heard(t *testing.T, size int) (fuse.OutHeader, []byte) {
	raw := make([]byte, outHeaderSize+size)
	_, err := io.ReadFull(b.dev[0], raw)
	require.NoError(t, err)
	var h fuse.OutHeader
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&h)), outHeaderSize), raw)
	return h, raw[outHeaderSize:]
}

func TestSpliceAnswersWithHeaderAndContent(t *testing.T) {
	b := newSpliceBench(t)
	for _, c := range []struct {
		off        int64
		size, want int
	}{
		{0, MaxRead, MaxRead},
		{4096, spliceFrom, spliceFrom},
		{123, MaxRead, MaxRead}, // one page more than it is long
		{int64(len(b.content)) - spliceFrom - 5, MaxRead, spliceFrom + 5}, // the file ends before
	} {
		done, err := b.answer(c.off, c.size)
		require.NoError(t, err)
		require.True(t, done)
		h, data := b.heard(t, c.want)
		require.Equal(t, fuse.OutHeader{Length: uint32(outHeaderSize + c.want), Unique: 42}, h)
		require.True(t, bytes.Equal(b.content[c.off:c.off+int64(c.want)], data))
	}
}

func TestSpliceLeavesSmallReadsAndTheEndToOthers(t *testing.T) {
	b := newSpliceBench(t)
	for _, off := range []int64{int64(len(b.content)) - 5, int64(len(b.content)), 1 << 40} {
		done, err := b.answer(off, MaxRead)
		require.NoError(t, err)
		require.False(t, done)
	}
}

// A file that shrinks between the look at its size and the read must not leave half an answer in
// the pipe for the next read.
func TestSpliceForgetsAnAnswerThatBecameTooLong(t *testing.T) {
	b := newSpliceBench(t)
	require.True(t, b.open())
	require.NoError(t, b.file.Truncate(MaxRead/2))
	require.False(t, b.fill(7, int(b.file.Fd()), 0, MaxRead))
	b.close()

	done, err := b.answer(0, MaxRead)
	require.NoError(t, err)
	require.True(t, done)
	h, data := b.heard(t, MaxRead/2)
	require.EqualValues(t, 42, h.Unique)
	require.True(t, bytes.Equal(b.content[:MaxRead/2], data))
}

func TestSpliceSaysThatTheConnectionIsGone(t *testing.T) {
	b := newSpliceBench(t)
	require.NoError(t, b.dev[0].Close())
	_, err := b.answer(0, MaxRead)
	require.ErrorIs(t, err, unix.EPIPE)
}
