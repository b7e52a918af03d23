package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds the memory for one line, in bytes.
const maxLine = 1 << 20

// rawLine is one line as it was read.
type rawLine struct {
	text     []byte // with its newline; nil if it is longer than maxLine
	size     int64
	lines    int  // 1; a run of empty lines has more
	complete bool // it has a newline
}

// eachLine calls f with each line. The last one may be incomplete. A line that is too long has no text. The text is valid until f returns.
func eachLine(r io.Reader, f func(rawLine) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	l := rawLine{lines: 1}
	for {
		if n := emptyLines(b); l.size == 0 && n > 0 {
			_, _ = b.Discard(n) // they are in the buffer
			if err := f(rawLine{text: []byte("\n"), size: int64(n), lines: n, complete: true}); err != nil {
				return err
			}
			continue
		}
		part, err := b.ReadSlice('\n')
		l.size += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if l.size <= maxLine {
				long = append(long, part...)
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if l.size > 0 {
			if l.complete = err == nil; l.size <= maxLine {
				l.text = part
				if len(long) > 0 {
					l.text = append(long, part...)
				}
			}
			if ferr := f(l); ferr != nil {
				return ferr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		l, long = rawLine{lines: 1}, long[:0]
	}
}

// emptyLines counts the empty lines that are next in the buffer: somebody may have appended millions.
func emptyLines(b *bufio.Reader) int {
	if b.Buffered() == 0 {
		_, _ = b.Peek(1) // reads on; an error comes again
	}
	next, _ := b.Peek(b.Buffered())
	return len(next) - len(bytes.TrimLeft(next, "\n"))
}

// Fault is a place where the chain is broken.
type Fault struct {
	Line    int    `json:"line"` // from 1
	Message string `json:"message"`
}

// Verify reads a whole chain. It returns the number of records and the places where the chain is broken. The error says that
// reading failed. With an anchor it notices a loss at the end, too. The anchor must be read before the chain is opened.
func Verify(r io.Reader, anchor *Anchor) (records int, faults []Fault, err error) {
	v := verifier{anchor: anchor}
	err = eachLine(r, v.line)
	if err == nil && anchor != nil && !v.met {
		v.lost()
	}
	return v.records, v.faults, err
}

type verifier struct {
	anchor *Anchor
	met    bool // the anchored event was there

	n, records int
	size       int64
	last       string
	faults     []Fault
}

// maxFaults bounds the list: nobody reads a million faults.
const maxFaults = 1000

func (v *verifier) fault(format string, args ...any) {
	if len(v.faults) < maxFaults {
		v.faults = append(v.faults, Fault{v.n, fmt.Sprintf(format, args...)})
	}
}

func (v *verifier) line(l rawLine) error {
	v.n += l.lines
	begin := v.size
	v.size += l.size
	if l.text == nil {
		v.fault("it is longer than %d bytes, and no record", maxLine)
		return nil
	}
	if len(bytes.TrimSpace(l.text)) == 0 {
		return nil
	}
	var rec Record
	if err := json.Unmarshal(l.text, &rec); err != nil {
		v.fault("it is no record: %v", err)
		return nil
	}
	v.record(l, rec, begin)
	return nil
}

func (v *verifier) record(l rawLine, rec Record, begin int64) {
	v.records++
	if !l.complete {
		v.fault("it has no end")
	}
	hash, err := lineHash(l.text)
	if err != nil || hash != rec.RecordHash {
		v.fault("it does not have the hash that it names: it was changed")
	}
	if rec.PrevHash != v.last {
		why := ""
		if gap, ok := rec.Details["audit_gap"].(string); ok {
			why = "; when it was written, this was known: " + gap
		}
		v.fault("it does not follow the line before: something was changed, taken out or put in%s", why)
	}
	v.last = rec.RecordHash
	if v.anchor != nil && begin == v.anchor.Begin && v.size == v.anchor.Size && rec.RecordHash == v.anchor.Hash && hash == rec.RecordHash {
		v.met = true
	}
}

// lost adds the fault that the anchored event is not there.
func (v *verifier) lost() {
	v.n++
	if v.size < v.anchor.Size {
		v.fault("the end is missing: %d bytes, up to the event with %s", v.anchor.Size-v.size, v.anchor.Hash)
		return
	}
	v.fault("the latest event of jvsfs, with %s, is not in it: this is another chain, or it was written anew", v.anchor.Hash)
}

// Tail calls f with the records of a chain in order. It skips lines that are no record.
func Tail(r io.Reader, f func(Record) error) error {
	return eachLine(r, func(l rawLine) error {
		if rec, ok := parseLine(l.text); ok {
			return f(rec)
		}
		return nil
	})
}

func parseLine(line []byte) (rec Record, ok bool) {
	ok = bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &rec) == nil
	return rec, ok
}
