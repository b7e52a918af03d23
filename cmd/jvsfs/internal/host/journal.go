package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// journal is a small table of texts by key that outlives its process, but not the machine: nothing is flushed. A change is one
// line that is copied into a mapped file, since the locks of other programs are taken a hundred times a second. The last line of a key
// counts; one that was torn by a kill says nothing. Who takes a journal over, or back, puts a file of its own in its place, so
// two daemons never write to one. Safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	path string
	file *recordFile // nil: the file is that of another process, or none is there
	live map[string][]byte
	used int // by what is live
}

// journalRoom is the room in a new file for lines, unless four times as much as is live is more. A full one is written anew.
const journalRoom = 512 << 10

// entry is a line, behind its checksum. Without a text the key is dropped.
type entry struct {
	Key  string          `json:"key"`
	Text json.RawMessage `json:"text,omitempty"`
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

// all are the texts that a former process has left, or this one.
func (j *journal) all() (texts [][]byte, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw, err := readOwn(j.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	j.live, j.used = make(map[string][]byte), 0
	for line := range bytes.Lines(raw) {
		if e, ok := readLine(line); ok {
			j.note(e)
		}
	}
	for _, text := range j.live {
		texts = append(texts, text)
	}
	return texts, nil
}

func readOwn(path string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer CloseFile(f)
	return io.ReadAll(f)
}

// close removes the file if it is this process's and nothing is in it.
func (j *journal) close() (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	if len(j.live) == 0 && j.isOwn() {
		err = os.Remove(j.path)
	}
	file := j.file
	j.file = nil // its memory may be somebody else's at once
	return errors.Join(err, file.close())
}

// isOwn reports whether the file at the path is that of this process. Under mu.
func (j *journal) isOwn() bool { return j.file != nil && isStillAt(j.file.file, j.path) }

// write adds a line. Under mu.
func (j *journal) write(e entry) error {
	line, err := lineOf(e)
	if err != nil {
		return err
	}
	j.note(e)
	if j.file.owned() && j.file.fits(len(line)) && j.file.add(line) == nil {
		return nil
	}
	return j.rewrite() // it is another one's, or full, or somebody has cut it
}

// note keeps what a line says. Under mu.
func (j *journal) note(e entry) {
	if j.live == nil {
		j.live = make(map[string][]byte)
	}
	if was := j.live[e.Key]; was != nil {
		j.used -= len(was)
		delete(j.live, e.Key)
	}
	if e.Text != nil {
		j.live[e.Key] = e.Text
		j.used += len(e.Text)
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
	file, err := newRecordFile(next, max(journalRoom, 4*len(all)))
	if err != nil {
		return err
	}
	if err = file.add(all); err == nil {
		err = takeRecords(j.path)
	}
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(err, file.close(), os.Remove(next))
	}
	if j.file != nil {
		err = j.file.close()
	}
	j.file = file
	return err
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
