package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// journal is a small table of texts by key that outlives its process, but not the machine: nothing is flushed. A change is one
// write of a line, since the locks of other programs are taken a hundred times a second. The last line of a key counts; one
// that was torn by a kill or a full disk says nothing. Safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64 // of the lines that are whole
	live map[string][]byte
	used int64 // by what is live
}

// rewriteAt is the size from which a journal is written anew, if most of it is old.
const rewriteAt = 256 << 10

// entry is a line, behind its checksum. Without a text the key is dropped.
type entry struct {
	Key  string          `json:"key"`
	Text json.RawMessage `json:"text,omitempty"`
}

// open reads what a former process has left.
func (j *journal) open(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	j.path, j.file, j.live = path, os.NewFile(uintptr(fd), path), make(map[string][]byte)
	raw, err := os.ReadFile(path)
	if err != nil {
		return errors.Join(err, j.file.Close())
	}
	for line := range bytes.Lines(raw) {
		if e, ok := readLine(line); ok {
			j.note(e)
		}
	}
	j.size = int64(len(raw))
	if bytes.HasSuffix(raw, []byte("\n")) || len(raw) == 0 {
		return nil
	}
	return j.rewrite() // the last line is torn
}

func (j *journal) put(key string, text []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(entry{key, text})
}

func (j *journal) drop(key string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.live[key] == nil {
		return nil
	}
	return j.write(entry{Key: key})
}

// all are the texts.
func (j *journal) all() (texts [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, text := range j.live {
		texts = append(texts, text)
	}
	return texts
}

// close removes the file if nothing is in it.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.live) == 0 {
		err = os.Remove(j.path)
	}
	return errors.Join(err, j.file.Close())
}

// write adds a line. Behind one that could not be written as a whole the next one begins anew. Under mu.
func (j *journal) write(e entry) error {
	line, err := lineOf(e)
	if err != nil {
		return err
	}
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(len(line))
	j.note(e)
	if j.size > rewriteAt && j.size > 4*j.used {
		_ = j.rewrite() // the line is written; the next one tries again
	}
	return nil
}

// note keeps what a line says. Under mu, or before anybody else knows the journal.
func (j *journal) note(e entry) {
	if was := j.live[e.Key]; was != nil {
		j.used -= int64(len(was))
		delete(j.live, e.Key)
	}
	if e.Text != nil {
		j.live[e.Key] = e.Text
		j.used += int64(len(e.Text))
	}
}

// rewrite writes what is live to a new file, and puts it in the place of the old one. Under mu.
func (j *journal) rewrite() error {
	var all []byte
	for key, text := range j.live {
		line, err := lineOf(entry{key, text})
		if err != nil {
			return err
		}
		all = append(all, line...)
	}
	next := j.path + newState
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(all)
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(next))
	}
	old := j.file
	j.file, j.size = file, int64(len(all))
	return old.Close()
}

// checksumLen is the length of the checksum in front of a line's JSON, with the space.
const checksumLen = 9

func lineOf(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(make([]byte, 0, checksumLen+len(text)+1), "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

func readLine(line []byte) (e entry, ok bool) {
	if len(line) <= checksumLen || line[len(line)-1] != '\n' {
		return e, false
	}
	text := line[checksumLen : len(line)-1]
	if string(line[:checksumLen]) != fmt.Sprintf("%08x ", crc32.ChecksumIEEE(text)) || json.Unmarshal(text, &e) != nil {
		return e, false
	}
	return e, true
}
