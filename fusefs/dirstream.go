package fusefs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tree"
)

// dirStream reads an open directory. Entries that did not fit into one answer are kept for the next
// one, which mostly continues there.
type dirStream struct {
	fd int

	mu   sync.Mutex
	at   uint64 // the offset after the last entry that was given
	buf  []byte
	rest []byte // the part of buf that was not given yet
}

// direntBuffer is the size of one getdents, in bytes, as libc uses it.
const direntBuffer = 32 << 10

// read gives entries from an offset on, until add returns false. Safe for concurrent use.
func (d *dirStream) read(from uint64, add func(fuse.DirEntry) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if from != d.at || from == 0 { // 0 is a rewind, which must see the directory as it is now
		if _, err := unix.Seek(d.fd, int64(from), unix.SEEK_SET); err != nil {
			return err
		}
		d.at, d.rest = from, nil
	}
	for {
		if len(d.rest) == 0 {
			if err := d.fill(); err != nil || len(d.rest) == 0 {
				return err
			}
		}
		e, l := parseDirent(d.rest)
		if l == 0 {
			return unix.EIO
		}
		if !add(e) {
			return nil
		}
		d.at, d.rest = e.Off, d.rest[l:]
	}
}

func (d *dirStream) fill() error {
	if d.buf == nil {
		d.buf = make([]byte, direntBuffer)
	}
	n, err := tree.Getdents(d.fd, d.buf)
	if err == nil {
		d.rest = d.buf[:n]
	}
	return err
}

// parseDirent reads one entry. If the bytes are not valid it returns length 0.
func parseDirent(b []byte) (fuse.DirEntry, int) {
	e, l := tree.ParseDirent(b)
	return fuse.DirEntry{Ino: e.Ino, Off: e.Off, Mode: e.Kind, Name: e.Name}, l
}
