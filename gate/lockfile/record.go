package lockfile

import (
	"encoding/json"
	"time"
)

// RecordOf names the members of a lock file that is a JSON record, and outlives its taker.
type RecordOf struct {
	Nonce   string // is another for each taker
	Token   string // a number that grows with each takeover
	Expires string // RFC 3339: until then nobody else takes it
}

// Record is what a lock file says. The zero value says nothing.
type Record struct {
	Readable bool
	Nonce    string
	Token    int64
	Expires  time.Time
}

// MaxRecord bounds a lock file that is a record, in bytes.
const MaxRecord = 64 << 10

// Read reads a record. One that lacks a member, or says it in another form, is not readable.
func (of RecordOf) Read(text []byte) (r Record) {
	var all map[string]json.RawMessage
	if len(text) > MaxRecord || json.Unmarshal(text, &all) != nil {
		return r
	}
	ok := json.Unmarshal(all[of.Nonce], &r.Nonce) == nil && json.Unmarshal(all[of.Token], &r.Token) == nil &&
		json.Unmarshal(all[of.Expires], &r.Expires) == nil
	r.Readable = ok && r.Nonce != ""
	return r
}

// JudgeRecord is Judge for a lock file that is a record: now is what it says, next what would replace it. With the
// nonce and the token of now it is a renewal, whoever makes it: only the holder knows the nonce. With another nonce it
// is a takeover, which needs the next token and that the record has expired, Break.After ago. So a renewal that was
// prepared before a takeover cannot land, and of two takeovers one does.
func JudgeRecord(b Break, f Facts, at time.Time, now, next Record) (Outcome, Why) {
	if f.State == Window {
		return judgeWindow(f)
	}
	over := now.Readable && at.After(now.Expires.Add(b.After))
	b.After = 0
	switch {
	case f.Act == Take && over && !f.Robbed && (!f.Member || !f.Lives): // its holder gives it up, however late
		return Breaks, NoReason
	case f.Act == Take, !now.Readable:
		return Judge(b, f)
	case next.Readable && next.Nonce == now.Nonce && next.Token == now.Token:
		return Renews, NoReason
	case next.Readable && next.Nonce != now.Nonce && over && next.Token == now.Token+1:
		return Breaks, NoReason
	}
	return Refused, NoRenewal
}
