package fusefs

import (
	"encoding/binary"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// OpenDir opens a directory for reading.
func (f *rawFS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	f.stats.count(gate.OpOpenDir)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	fd, err := f.openAgain(n.fd, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME)
	if err != nil {
		return status(err)
	}
	out.Fh = f.handles.add(&handle{node: n, fd: fd})
	return fuse.OK
}

// ReadDir reads entries from an offset, which is the backing directory's own: so
// telldir and seekdir mean what they mean there.
func (f *rawFS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	f.stats.count(gate.OpReadDir)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	h.dirMu.Lock()
	defer h.dirMu.Unlock()
	if _, err := unix.Seek(h.fd, int64(in.Offset), unix.SEEK_SET); err != nil {
		return status(err)
	}
	buf := make([]byte, max(int(in.Size), 1024))
	n, err := retryInt(func() (int, error) { return unix.Getdents(h.fd, buf) })
	if err != nil {
		return status(err)
	}
	for buf = buf[:n]; len(buf) > 0; {
		e, l := parseDirent(buf)
		if l == 0 || !out.AddDirEntry(e) {
			break
		}
		buf = buf[l:]
	}
	return fuse.OK
}

// parseDirent reads one struct linux_dirent64: ino 8, off 8, reclen 2, type 1,
// name. It returns length 0 for what cannot be one.
func parseDirent(b []byte) (fuse.DirEntry, int) {
	const header = 19
	if len(b) < header {
		return fuse.DirEntry{}, 0
	}
	l := int(binary.NativeEndian.Uint16(b[16:]))
	if l < header || l > len(b) {
		return fuse.DirEntry{}, 0
	}
	name, _, _ := strings.Cut(string(b[header:l]), "\x00")
	return fuse.DirEntry{
		Ino: binary.NativeEndian.Uint64(b), Off: binary.NativeEndian.Uint64(b[8:]),
		Mode: uint32(b[18]) << 12, Name: name,
	}, l
}

// ReadDirPlus is switched off: it would look up every entry that ls only names.
func (f *rawFS) ReadDirPlus(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status {
	f.stats.count(gate.OpReadDirPlus)
	return fuse.ENOSYS
}

// ReleaseDir closes a directory.
func (f *rawFS) ReleaseDir(in *fuse.ReleaseIn) {
	f.stats.count(gate.OpReleaseDir)
	f.handles.release(in.Fh)
}

// FsyncDir makes a directory durable. Its descriptor cannot write, so no lease is
// asked for: what it holds was admitted when it was made.
func (f *rawFS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	f.stats.count(gate.OpFsyncDir)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	return syncFD(h.fd, in.FsyncFlags)
}
