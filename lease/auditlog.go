package lease

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// AuditRecord is one line of the audit chain, in the format of JVS: each line carries the hash of the one before, so that none
// can be changed or taken out unnoticed. Other programs append to the same file; all do it under flock.
type AuditRecord struct {
	Timestamp  time.Time      `json:"timestamp"`
	EventType  string         `json:"event_type"`
	SnapshotID string         `json:"snapshot_id,omitempty"`
	Worktree   string         `json:"worktree_name,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
	PrevHash   string         `json:"prev_hash"`
	RecordHash string         `json:"record_hash"`
}

// auditHash is SHA-256 over the line's canonical JSON (keys sorted, no spaces, HTML escaped) with an empty record_hash in it.
func auditHash(line []byte) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return "", err
	}
	fields["record_hash"] = ""
	canonical, err := json.Marshal(fields) // maps come out with sorted keys
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// AuditLog appends to an audit chain. Safe for concurrent use, also by other processes.
type AuditLog struct {
	dir  int    // its directory
	name string // in the directory
	path string // for messages

	mu   sync.Mutex
	f    *os.File // nil until the first append, and after a failure
	size int64    // how far the chain is known
	last string   // hash of the last whole line up to there
}

// auditWait bounds the wait for others who append.
const auditWait = 5 * time.Second

// OpenAudit opens the audit log name in the directory dirfd, which it duplicates. Nothing is read or made before the first
// Append. display is the path for messages.
func OpenAudit(dirfd int, name, display string) (*AuditLog, error) {
	fd, err := openat(dirfd, ".", dirFlags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: display, Err: err}
	}
	return &AuditLog{dir: fd, name: name, path: display}, nil
}

// Close frees the descriptors.
func (a *AuditLog) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
	return unix.Close(a.dir)
}

func (a *AuditLog) drop() {
	if a.f != nil {
		_ = a.f.Close()
	}
	a.f, a.size, a.last = nil, 0, ""
}

// Append writes one record durably: it has PrevHash and RecordHash filled in. On an error nothing of it is in the log.
func (a *AuditLog) Append(ctx context.Context, r AuditRecord) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.append(ctx, r)
	if err != nil {
		a.drop() // and look anew next time
		return &Error{Class: ClassAuditFailed, File: a.path, Message: "the audit log cannot be written", Err: err,
			Next: "look at the disk and the permissions of the audit log; jvsfs audit verify checks its chain"}
	}
	return nil
}

func (a *AuditLog) append(ctx context.Context, r AuditRecord) error {
	if err := a.open(); err != nil {
		return err
	}
	if err := lockWithin(ctx, int(a.f.Fd()), auditWait); err != nil {
		return err
	}
	defer func() { _ = unix.Flock(int(a.f.Fd()), unix.LOCK_UN) }()
	whole, err := a.catchUp()
	if err != nil {
		return err
	}
	line, hash, err := chain(r, a.last)
	if err != nil {
		return err
	}
	if !whole { // somebody died in the middle of a line
		line = append([]byte("\n"), line...)
	}
	if err := a.write(line); err != nil {
		return err
	}
	a.size, a.last = a.size+int64(len(line)), hash
	return nil
}

// chain makes the line that follows the one with hash prev.
func chain(r AuditRecord, prev string) (line []byte, hash string, err error) {
	r.Timestamp, r.PrevHash, r.RecordHash = r.Timestamp.UTC(), prev, ""
	if line, err = json.Marshal(r); err != nil {
		return nil, "", err
	}
	if hash, err = auditHash(line); err != nil {
		return nil, "", err
	}
	r.RecordHash = hash
	line, err = json.Marshal(r)
	return append(line, '\n'), hash, err
}

// write appends whole or not at all.
func (a *AuditLog) write(line []byte) error {
	n := 0
	err := disk("audit.write", func() (err error) { n, err = a.f.Write(line); return err })
	if err == nil {
		err = disk("audit.fsync", a.f.Sync)
	}
	if err != nil && n > 0 {
		return errors.Join(err, a.f.Truncate(a.size))
	}
	return err
}

// open makes sure that the descriptor is the file that stands under the name: it may have been rotated. It must be a regular
// file with one name: the directory may be writable by others, and a link could point anywhere.
func (a *AuditLog) open() error {
	var at, held unix.Stat_t
	err := unix.Fstatat(a.dir, a.name, &at, unix.AT_SYMLINK_NOFOLLOW)
	if a.f != nil && err == nil && unix.Fstat(int(a.f.Fd()), &held) == nil && idOf(&at) == idOf(&held) {
		return nil
	}
	a.drop()
	fd, err := openat(a.dir, a.name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	if err = unix.Fstat(fd, &held); err == nil && (held.Mode&unix.S_IFMT != unix.S_IFREG || held.Nlink != 1) {
		err = errors.New("it is not a regular file with one name")
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	a.f = os.NewFile(uintptr(fd), a.path)
	return nil
}

// catchUp reads what others have appended since. whole is whether the log ends with a line's end.
func (a *AuditLog) catchUp() (whole bool, err error) {
	info, err := a.f.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() < a.size { // truncated by somebody
		a.size, a.last = 0, ""
	}
	if info.Size() == a.size {
		return true, nil
	}
	end := a.size
	err = eachLine(io.NewSectionReader(a.f, a.size, info.Size()-a.size), func(line []byte, complete bool) error {
		end += int64(len(line))
		whole = complete
		var r AuditRecord
		if json.Unmarshal(line, &r) == nil && r.RecordHash != "" {
			a.last = r.RecordHash
		}
		return nil
	})
	a.size = end
	return whole, err
}

// maxAuditLine bounds the memory for one line, in bytes.
const maxAuditLine = 1 << 20

// eachLine calls f with each line, its end included; the last may be incomplete.
func eachLine(r io.Reader, f func(line []byte, complete bool) error) error {
	buf := make([]byte, 0, 64<<10)
	for {
		if len(buf) > maxAuditLine {
			return fmt.Errorf("a line is longer than %d bytes", maxAuditLine)
		}
		chunk := make([]byte, 32<<10)
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		for {
			i := bytes.IndexByte(buf, '\n')
			if i < 0 {
				break
			}
			if err := f(buf[:i+1], true); err != nil {
				return err
			}
			buf = buf[i+1:]
		}
		if errors.Is(err, io.EOF) {
			if len(buf) > 0 {
				return f(buf, false)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// AuditFault is a place where the chain is broken.
type AuditFault struct {
	Line    int    `json:"line"` // from 1
	Message string `json:"message"`
}

// VerifyAudit reads a whole chain. It returns the number of records and where the chain is broken; an error only when reading
// failed.
func VerifyAudit(r io.Reader) (records int, faults []AuditFault, err error) {
	last, n := "", 0
	fault := func(format string, args ...any) { faults = append(faults, AuditFault{n, fmt.Sprintf(format, args...)}) }
	err = eachLine(r, func(line []byte, complete bool) error {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		var rec AuditRecord
		if err := json.Unmarshal(line, &rec); err != nil {
			fault("it is no record: %v", err)
			return nil
		}
		records++
		if !complete {
			fault("it has no end")
		}
		if hash, err := auditHash(line); err != nil || hash != rec.RecordHash {
			fault("it does not have the hash that it names: it was changed")
		}
		if rec.PrevHash != last {
			fault("it does not follow the line before: something was changed, taken out or put in")
		}
		last = rec.RecordHash
		return nil
	})
	return records, faults, err
}

// TailAudit calls f with the records of a chain in order, skipping what is none.
func TailAudit(r io.Reader, f func(AuditRecord) error) error {
	return eachLine(r, func(line []byte, _ bool) error {
		var rec AuditRecord
		if json.Unmarshal(line, &rec) != nil {
			return nil
		}
		return f(rec)
	})
}

// lockWithin takes LOCK_EX, waiting at most d.
func lockWithin(ctx context.Context, fd int, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || (!errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR)) {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("somebody else has it locked: %w", ctx.Err())
		}
	}
}
