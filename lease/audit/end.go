package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxReach bounds how much of a chain one event reads: others may have appended any number of bytes since our last event.
const maxReach = 1 << 20

// maxQuiet is how many bytes without a record are no fault: a torn line leaves so many.
const maxQuiet = 4096

// chainEnd is where the next line goes.
type chainEnd struct {
	size  int64  // of the file
	last  string // hash of the line before
	whole bool   // the file ends with a newline
	gap   string // why the line before is not in the file; the next line says so. "" if all is well
}

// end finds the end of the chain, with bounded work. The anchored event must still be there. If it is not, the next line follows the
// anchor's hash and says so. No verification of the file passes then.
func (a *Log) end() (chainEnd, error) {
	info, err := a.f.Stat()
	if err != nil {
		return chainEnd{}, err
	}
	known, hash := a.size, a.last
	anchor, had := a.anchor.read()
	if had {
		known, hash = anchor.Size, anchor.Hash
		if why := anchor.missing(a.f, info.Size()); why != "" {
			at, err := lastLine(a.f, max(0, info.Size()-a.reach), info.Size(), "")
			at.last, at.gap = hash, why
			return at, err
		}
	} else if info.Size() < known { // truncated by somebody
		known, hash = 0, ""
	}
	from := max(known, info.Size()-a.reach)
	at, err := lastLine(a.f, from, info.Size(), hash)
	if err == nil && at.size > known && at.last == hash && known+maxQuiet < at.size {
		at.gap = fmt.Sprintf("no record was found in the last of the %d bytes that others have appended since the one that this follows", at.size-known)
	}
	return at, err
}

// maxTries bounds how many lines that begin like a record are parsed for one event.
const maxTries = 4096

// lastLine looks for the last record from there to the end. hash is that of the line before. If the bytes
// begin in the middle of a line, that line is no record.
func lastLine(r io.ReaderAt, from, size int64, hash string) (chainEnd, error) {
	at := chainEnd{size: size, last: hash, whole: true}
	text := make([]byte, size-from)
	n, err := r.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return at, err
	}
	text = text[:n]
	if end := bytes.LastIndexByte(text, '\n'); end != n-1 {
		at.whole, text = false, text[:end+1]
	}
	for tries := 0; len(text) > 0 && tries < maxTries; {
		begin := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		var rec Record
		if text[begin] == '{' {
			tries++
			if json.Unmarshal(text[begin:], &rec) == nil && rec.RecordHash != "" {
				at.last = rec.RecordHash
				return at, nil
			}
		}
		text = text[:begin]
	}
	return at, nil
}
