package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Anchor is the place of our last event in an audit chain. It lies with the records, which nobody else can write. It shows whether
// the end of the chain was cut off. It is written after the event is durable and not waited for. So it may lag by one event, after a
// power failure by more, but it never leads.
type Anchor struct {
	Begin int64  `json:"begin"` // of the event's line, in bytes
	Size  int64  `json:"size"`  // to the line's end
	Hash  string `json:"hash"`  // of the record
}

// anchorName is the anchor's name in a lock directory. No worktree's file is called so.
const anchorName = "audit.anchor"

// anchorSize is one sector, which is written in place: the write is whole or not at all, and needs no new space.
const anchorSize = 512

// ReadAnchor reads the anchor of a lock directory. Without one the error is os.ErrNotExist.
func ReadAnchor(lockDir string) (Anchor, error) {
	f, err := os.OpenFile(lockDir+"/"+anchorName, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Anchor{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(f, anchorSize))
	if err != nil {
		return Anchor{}, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Anchor{}, os.ErrNotExist // it was just made
	}
	return parseAnchor(text)
}

func parseAnchor(text []byte) (x Anchor, err error) {
	if err = json.Unmarshal(bytes.TrimSpace(text), &x); err == nil && !x.sane() {
		err = errors.New("its numbers are none of a chain")
	}
	if err != nil {
		return Anchor{}, fmt.Errorf("the anchor of the audit chain cannot be read: %w", err)
	}
	return x, nil
}

func (x Anchor) sane() bool {
	return x.Begin >= 0 && x.Size > x.Begin && x.Size-x.Begin <= maxLine && len(x.Hash) == 64
}

// missing says why the anchored event is not in the chain. It is "" if the event is there. It reads one line.
func (x Anchor) missing(r io.ReaderAt, size int64) string {
	if size < x.Size {
		return fmt.Sprintf("%d bytes of the chain are gone: it had %d, and ended with %s", x.Size-size, x.Size, x.Hash)
	}
	line := make([]byte, x.Size-x.Begin)
	var rec Record
	if _, err := r.ReadAt(line, x.Begin); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Sprintf("the last event before cannot be read: %v", err)
	}
	if json.Unmarshal(line, &rec) != nil || rec.RecordHash != x.Hash || !bytes.HasSuffix(line, []byte("\n")) {
		return fmt.Sprintf("another chain is in the place of the one that had %d bytes and ended with %s", x.Size, x.Hash)
	}
	if hash, err := lineHash(line); err != nil || hash != x.Hash {
		return fmt.Sprintf("the event with %s was changed", x.Hash)
	}
	return ""
}

// anchorFile is the anchor of one log. nil is no anchor.
type anchorFile struct {
	dir int // the descriptor of the lock directory
	fd  int // -1 until it is needed
}

// lock excludes others who move the anchor, until unlock is called.
func (f *anchorFile) lock(ctx context.Context) (unlock func(), err error) {
	if f == nil {
		return func() {}, nil
	}
	if f.fd >= 0 && !f.current() {
		f.close()
	}
	if f.fd < 0 {
		f.fd, err = openat(f.dir, anchorName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		if err != nil {
			f.fd = -1
			return nil, &os.PathError{Op: "open", Path: anchorName, Err: err}
		}
		var st unix.Stat_t // who owns the lock directory can have made it a name of another file
		if err = unix.Fstat(f.fd, &st); err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1) {
			err = errors.New("it is not a regular file with one name: remove it, or its other name")
		}
		if err != nil {
			f.close()
			return nil, &os.PathError{Op: "open", Path: anchorName, Err: err}
		}
	}
	if err := lockWithin(ctx, f.fd, lockWait); err != nil {
		return nil, err
	}
	return func() { _ = unix.Flock(f.fd, unix.LOCK_UN) }, nil
}

// current is whether the name still is the open file.
func (f *anchorFile) current() bool {
	var at, held unix.Stat_t
	return unix.Fstatat(f.dir, anchorName, &at, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstat(f.fd, &held) == nil && sameFile(&at, &held) && held.Nlink <= 1
}

// read is the anchor. had is false if there is none, or none that can be read.
func (f *anchorFile) read() (x Anchor, had bool) {
	if f == nil || f.fd < 0 {
		return Anchor{}, false
	}
	text := make([]byte, anchorSize)
	n, err := unix.Pread(f.fd, text, 0)
	if err != nil || n <= 0 {
		return Anchor{}, false
	}
	x, err = parseAnchor(text[:n])
	return x, err == nil
}

// move anchors an event that is durable. It does not wait for the disk: if the anchor lags, a loss of the events after it is not
// noticed, and that is all. An error does not undo the event.
func (f *anchorFile) move(x Anchor) {
	if f == nil || f.fd < 0 {
		return
	}
	text, err := json.Marshal(x)
	if err != nil || len(text) >= anchorSize {
		return
	}
	text = append(text, bytes.Repeat([]byte{' '}, anchorSize-1-len(text))...)
	if _, err := unix.Pwrite(f.fd, append(text, '\n'), 0); err == nil {
		_ = unix.SyncFileRange(f.fd, 0, anchorSize, unix.SYNC_FILE_RANGE_WRITE)
	}
}

func (f *anchorFile) close() {
	if f != nil && f.fd >= 0 {
		_ = unix.Close(f.fd)
		f.fd = -1
	}
}
