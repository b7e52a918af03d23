package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Record is one line of the audit chain, in the format of JVS. Each line carries the hash of the line before, so a line that is
// changed or removed is noticed. Other programs append to the same file, too, all of them under flock.
type Record struct {
	Timestamp  time.Time      `json:"timestamp"`
	EventType  string         `json:"event_type"`
	SnapshotID string         `json:"snapshot_id,omitempty"`
	Worktree   string         `json:"worktree_name,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
	PrevHash   string         `json:"prev_hash"`
	RecordHash string         `json:"record_hash"`
}

// lineHash is SHA-256 over the line's canonical JSON (keys sorted, no spaces, HTML escaped) with an empty record_hash in it.
func lineHash(line []byte) (string, error) {
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

// Log appends to an audit chain. It looks the chain's directory up for each event, for others may move it. It moves the anchor
// ([Anchor]). An event costs bounded work, whatever others have appended. Safe for concurrent use, also by other processes.
type Log struct {
	base   int      // the directory in which the way begins
	way    []string // the directories from there; the last one is made if it is absent
	name   string   // in the last directory
	path   string   // for messages
	anchor *anchorFile
	reach  int64 // maxReach

	mu   sync.Mutex
	f    *os.File // nil until the first append, and after a failure
	size int64    // how far the chain is known, where there is no anchor
	last string   // hash of the last whole line up to there
}

// ErrLocked says that others keep the chain locked for longer than they need to append.
var ErrLocked = errors.New("somebody else has it locked")

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// lockWait bounds the wait for others who append.
const lockWait = 5 * time.Second

// Open opens the audit log name. way leads to its directory, from the directory dirfd, which Open duplicates. Before the
// first Append nothing but that directory is made. display is the path for messages. locks is the descriptor of the lock directory, in
// which the anchor is; it must outlive the log. -1: there is no anchor.
func Open(dirfd int, way []string, name, display string, locks int) (*Log, error) {
	fd, err := openat(dirfd, ".", dirFlags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: display, Err: err}
	}
	a := &Log{base: fd, way: way, name: name, path: display, reach: maxReach}
	if locks >= 0 {
		a.anchor = &anchorFile{dir: locks, fd: -1}
	}
	dir, err := a.directory()
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if dir != fd {
		_ = unix.Close(dir)
	}
	return a, nil
}

// Close frees the descriptors.
func (a *Log) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
	a.anchor.close()
	return unix.Close(a.base)
}

func (a *Log) drop() {
	if a.f != nil {
		_ = a.f.Close()
	}
	a.f, a.size, a.last = nil, 0, ""
}

// Append fills PrevHash and RecordHash in and writes the record durably. On an error nothing of it is in the log.
func (a *Log) Append(ctx context.Context, r Record) error {
	return a.AppendAll(ctx, []Record{r})
}

// AppendAll appends several records in their order, with one flush of the disk. On an error none of them is in the log.
func (a *Log) AppendAll(ctx context.Context, all []Record) error {
	if len(all) == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.append(ctx, all)
	if err != nil {
		a.drop() // and look anew next time
		return &record.Error{Class: record.ClassAuditFailed, File: a.path, Message: "the audit log cannot be written", Err: err,
			Next: "look at the disk and the permissions of the audit log; jvsfs audit verify checks its chain"}
	}
	return nil
}

// append takes the anchor's lock before the chain's: if a directory is swapped, two processes may have different files, but they
// still exclude each other.
func (a *Log) append(ctx context.Context, all []Record) error {
	unlock, err := a.anchor.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.open(); err != nil {
		return err
	}
	if err := lockWithin(ctx, int(a.f.Fd()), lockWait); err != nil {
		return err
	}
	defer func() { _ = unix.Flock(int(a.f.Fd()), unix.LOCK_UN) }()
	at, err := a.end()
	if err != nil {
		return err
	}
	text, last, err := at.lines(all)
	if err != nil {
		return err
	}
	if err := a.write(text, at.size); err != nil {
		return err
	}
	a.size, a.last = last.Size, last.Hash
	a.anchor.move(last)
	return nil
}

// lines are the records as lines that follow the end of the chain, and the anchor of the last one.
func (at chainEnd) lines(all []Record) (text []byte, last Anchor, err error) {
	if !at.whole { // a writer died in the middle of a line
		text = append(text, '\n')
	}
	last.Hash = at.last
	for i, r := range all {
		if i == 0 && at.gap != "" {
			r.Details = maps.Clone(r.Details)
			if r.Details == nil {
				r.Details = map[string]any{}
			}
			r.Details["audit_gap"] = at.gap
		}
		var line []byte
		if line, last.Hash, err = chain(r, last.Hash); err != nil {
			return nil, last, err
		}
		last.Begin = at.size + int64(len(text))
		text = append(text, line...)
	}
	last.Size = at.size + int64(len(text))
	return text, last, nil
}

// chain makes the line that follows the one with hash prev.
func chain(r Record, prev string) (line []byte, hash string, err error) {
	r.Timestamp, r.PrevHash, r.RecordHash = r.Timestamp.UTC(), prev, ""
	if line, err = json.Marshal(r); err != nil {
		return nil, "", err
	}
	if hash, err = lineHash(line); err != nil {
		return nil, "", err
	}
	r.RecordHash = hash
	line, err = json.Marshal(r)
	return append(line, '\n'), hash, err
}

// write appends all or nothing. size is the length of the log.
func (a *Log) write(line []byte, size int64) error {
	n := 0
	err := change("audit.write", func() (err error) { n, err = a.f.Write(line); return err })
	if err == nil {
		err = change("audit.fsync", a.f.Sync)
	}
	if info, serr := a.f.Stat(); err != nil && n > 0 && serr == nil && info.Size() == size+int64(n) { // nobody has appended since
		return errors.Join(err, a.f.Truncate(size))
	}
	return err
}

// directory opens the directory of the chain, one component at a time: its owner may plant links.
func (a *Log) directory() (int, error) {
	fd := a.base
	for i, name := range a.way {
		next, err := openat(fd, name, dirFlags, 0)
		if i == len(a.way)-1 && errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(fd, name, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = openat(fd, name, dirFlags, 0)
			}
		}
		if fd != a.base {
			_ = unix.Close(fd)
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: name, Err: err}
		}
		fd = next
	}
	return fd, nil
}

// open makes sure that the descriptor is the file that has the name now: the log may have been rotated. It must be a regular file
// with one name: others may write to the directory, and a link could point anywhere.
func (a *Log) open() error {
	dir, err := a.directory()
	if err != nil {
		return err
	}
	if dir != a.base {
		defer unix.Close(dir) //nolint:errcheck // only read from
	}
	var at, held unix.Stat_t
	err = unix.Fstatat(dir, a.name, &at, unix.AT_SYMLINK_NOFOLLOW)
	if a.f != nil && err == nil && unix.Fstat(int(a.f.Fd()), &held) == nil && sameFile(&at, &held) && held.Nlink == 1 {
		return nil
	}
	a.drop()
	fd, err := openat(dir, a.name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	if err = unix.Fstat(fd, &held); err == nil && (held.Mode&unix.S_IFMT != unix.S_IFREG || held.Nlink != 1) {
		err = errors.New("it is not a regular file with one name")
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	a.f = os.NewFile(uintptr(fd), a.path)
	return nil
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
			return fmt.Errorf("%w: %w", ErrLocked, ctx.Err())
		}
	}
}
