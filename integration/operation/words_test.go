package operation

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestArgumentsAreOfKnownKinds(t *testing.T) {
	for name, o := range table {
		for _, kind := range strings.Fields(o.words) {
			kind, value, optional := strings.Cut(kind, "=")
			if kind == "args" {
				continue
			}
			require.NotNil(t, kinds[kind], "%s of %s", kind, name)
			if optional {
				require.NotPanics(t, func() { kinds[kind](&Command{Op: name}, value) }, "%s of %s", kind, name)
			}
		}
	}
}

func TestLines(t *testing.T) {
	require.Equal(t, []Command{
		{Op: "open", Path: "f", Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o600, Handle: "h"},
		{Op: "open", Path: "f", Mode: 0o644},
		{Op: "openat", Handle: "d", Path: "f", Flags: unix.O_RDWR, Mode: 0o644, Name: "h"},
		{Op: "mknod", Path: "n", Mode: unix.S_IFCHR | 0o666, Len: int64(unix.Mkdev(7, 300))},
		{Op: "write", Handle: "h", Data: []byte("text")},
		{Op: "chmod", Path: "", Mode: 0o7},
		{Op: "unlink", Path: "nnn/" + "././/x"},
		{Op: "writev", Handle: "h", Args: []string{"a", "b"}},
	}, Lines("open f wo,creat 0600 =h; open f ro;; openat d f rw =h; mknod n c 0666 7 300; write h text; chmod '' 7; unlink <n3>/<p6:x>; writev h a b"))
	require.Len(t, Lines("write h 100")[0].Data, 100)
	require.NotEqual(t, Lines("write h 9")[0].Data, Lines("pwrite h 0 9")[0].Data)
	for _, wrong := range []string{"nonsense", "open f", "open f rx", "unlink", "unlink a b", "chmod f 9", "lock h"} {
		require.Panics(t, func() { Lines(wrong) }, wrong)
	}
}

func TestABoxKeepsAndForgets(t *testing.T) {
	b := NewBox(t.TempDir())
	require.Empty(t, b.Play("open f rw,creat =h; write h text; mmap h =m 4096; store m TE; msync m; munmap m; pread h 0 9").Errno)
	require.Equal(t, "TExt", string(b.Data))
	require.Equal(t, "EBADF", b.Play("close h; write h more").Errno)
	require.Equal(t, "ENOMAPPING", b.Play("store m x").Errno)
	require.Equal(t, "EBADCOMMAND", b.Perform(Command{Op: "nonsense"}).Errno)
	require.Equal(t, "SIGBUS", b.Play("open f rw =h; ftruncate h 0; mapwrite h 0 5").Errno)
	require.NoError(t, Do(b.dir, "symlink f l; readlink l"))
	require.ErrorContains(t, Do(b.dir, "mkdir f"), "EEXIST")
	b.Drop()
	require.Equal(t, -1, b.FD("h"))
	require.Equal(t, os.Getpid(), int(b.Play("hello").Vals[0]))
}
