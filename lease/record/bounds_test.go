package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bound is a field at its bound: the last value that a record may have, and the first that it may not.
type bound struct {
	name      string
	last, out func(*Record)
}

func textBound(name string, at func(*Record) *string, most int) bound {
	return bound{name, func(r *Record) { *at(r) = strings.Repeat("x", most) }, func(r *Record) { *at(r) = strings.Repeat("x", most+1) }}
}

func timeBounds(name string, at func(*Record) *time.Time) []bound {
	set := func(to time.Time) func(*Record) {
		return func(r *Record) { r.Released = true; *at(r) = to }
	}
	return []bound{
		{name + " early", set(earliest), set(earliest.Add(-1))},
		{name + " late", set(latest.Add(-1)), set(latest)},
	}
}

func durationBounds(name string, at func(*Record) *int64) []bound {
	set := func(to int64) func(*Record) { return func(r *Record) { *at(r) = to } }
	const most = int64(MaxSpan / time.Millisecond)
	return []bound{{name + " small", set(0), set(-1)}, {name + " large", set(most), set(most + 1)}}
}

func allBounds() []bound {
	set := func(f func(*Record)) func(*Record) { return f }
	all := []bound{
		{"token small", set(func(r *Record) { r.FencingToken = 1 }), set(func(r *Record) { r.FencingToken = 0 })},
		{"token large", set(func(r *Record) { r.FencingToken = MostToken }), set(func(r *Record) { r.FencingToken = MostToken + 1 })},
		{"token of a kind", set(func(*Record) {}), set(func(r *Record) { r.FencingToken = 3 << 62 })},
		{"acquire_seq", set(func(r *Record) { r.AcquireSeq = uint64(MostToken) }), set(func(r *Record) { r.AcquireSeq = uint64(MostToken) + 1 })},
		{"renew_count", set(func(r *Record) { r.RenewCount = uint64(MostToken) }), set(func(r *Record) { r.RenewCount = uint64(MostToken) + 1 })},
		{"pid", set(func(r *Record) { r.HolderID = fmt.Sprintf("h:u:%d:1", mostPID) }), set(func(r *Record) { r.HolderID = fmt.Sprintf("h:u:%d:1", mostPID+1) })},
		{"client's characters", set(func(r *Record) { r.StoreClient = "!~" }), set(func(r *Record) { r.StoreClient = "a\nplug=b" })},
		{"nonce small", set(func(r *Record) { r.HolderNonce = "n" }), set(func(r *Record) { r.HolderNonce = "" })},
		{"nonce's characters", set(func(r *Record) { r.HolderNonce = "!~" }), set(func(r *Record) { r.HolderNonce = "a b" })},
		{"session's characters", set(func(r *Record) { r.SessionID = "!~" }), set(func(r *Record) { r.SessionID = "é" })},
		{"lock's characters", set(func(r *Record) { r.LockID = "a/b" }), set(func(r *Record) { r.LockID = "a\x7f" })},
		{"host's characters", set(func(r *Record) { r.HolderID = "hé x:u:1:1" }), set(func(r *Record) { r.HolderID = "h\x1b[2J:u:1:1" })},
		{"offered host's characters", set(func(r *Record) { r.OfferedTo = "hé x" }), set(func(r *Record) { r.OfferedTo = "h\n" })},
		{"offer's absence", set(func(r *Record) { r.OfferUntil = time.Time{} }), set(func(r *Record) { r.OfferUntil = time.Time{}.Add(1) })},
		{"expiry small", set(func(r *Record) { r.LeaseExpiresAt = r.LastRenewedAt }), set(func(r *Record) { r.LeaseExpiresAt = r.LastRenewedAt.Add(-1) })},
		{"expiry large", set(func(r *Record) { r.LeaseExpiresAt = r.LastRenewedAt.Add(MaxSpan) }),
			set(func(r *Record) { r.LeaseExpiresAt = r.LastRenewedAt.Add(MaxSpan + 1) })},
		{"further fields' size", set(extra("x", mostExtra-3)), set(extra("x", mostExtra-2))},
		{"further fields' depth", set(nested(mostNesting)), set(nested(mostNesting + 1))},
		textBound("lock_id", func(r *Record) *string { return &r.LockID }, mostName),
		textBound("nonce", func(r *Record) *string { return &r.HolderNonce }, mostName),
		textBound("session", func(r *Record) *string { return &r.SessionID }, mostName),
		textBound("scope", func(r *Record) *string { return &r.Scope }, mostName),
		textBound("boot id", func(r *Record) *string { return &r.HostBootID }, mostName),
		textBound("pid namespace", func(r *Record) *string { return &r.PIDNamespace }, mostName),
		textBound("holder_id", func(r *Record) *string { return &r.HolderID }, MaxText),
		textBound("offered_to", func(r *Record) *string { return &r.OfferedTo }, MaxText),
		textBound("scope_key", func(r *Record) *string { return &r.ScopeKey }, MaxText),
		textBound("purpose", func(r *Record) *string { return &r.Purpose }, MaxText),
	}
	all = append(all, timeBounds("created", func(r *Record) *time.Time { return &r.CreatedAt })...)
	all = append(all, timeBounds("renewed", func(r *Record) *time.Time { return &r.LastRenewedAt })...)
	all = append(all, timeBounds("expires", func(r *Record) *time.Time { return &r.LeaseExpiresAt })...)
	all = append(all, timeBounds("offer", func(r *Record) *time.Time { return &r.OfferUntil })...)
	all = append(all, durationBounds("lease", func(r *Record) *int64 { return &r.LeaseDurationMS })...)
	all = append(all, durationBounds("interval", func(r *Record) *int64 { return &r.RenewIntervalMS })...)
	all = append(all, durationBounds("skew", func(r *Record) *int64 { return &r.MaxClockSkewMS })...)
	return append(all, durationBounds("grace", func(r *Record) *int64 { return &r.StealGraceMS })...)
}

// extra is an unknown field with a text of n bytes.
func extra(name string, n int) func(*Record) {
	return func(r *Record) {
		r.extra = map[string]json.RawMessage{name: json.RawMessage(`"` + strings.Repeat("v", n) + `"`)}
	}
}

func nested(n int) func(*Record) {
	return func(r *Record) {
		r.extra = map[string]json.RawMessage{"x": json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))}
	}
}

// Each bound of a record, on both sides: the last value is read as it was written, the first one beyond makes the record unreadable.
func TestARecordBeyondABoundIsUnreadable(t *testing.T) {
	for _, b := range allBounds() {
		t.Run(b.name, func(t *testing.T) {
			r := sample()
			b.last(r)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			back, err := Parse(text, "main")
			require.NoError(t, err)
			require.Equal(t, r, back)

			r = sample()
			b.out(r)
			text, err = json.Marshal(r)
			require.NoError(t, err)
			_, err = Parse(text, "main")
			require.ErrorContains(t, err, "implausible")
		})
	}
}

// A record is read as it was written, whatever its content.
func TestARecordIsReadAsItWasWritten(t *testing.T) {
	text := func(most int) *rapid.Generator[string] {
		return rapid.Custom(func(rt *rapid.T) string { return Clip(rapid.String().Draw(rt, "text"), most) })
	}
	graphic := rapid.StringMatching(`[!-~]{1,64}`)
	count := rapid.Uint64Range(0, uint64(MostToken))
	at := rapid.Custom(func(rt *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(earliest.Unix(), latest.Unix()-1-int64(MaxSpan/time.Second)).Draw(rt, "second"),
			rapid.Int64Range(0, 999999999).Draw(rt, "nanosecond")).UTC()
	})
	ms := rapid.Int64Range(0, int64(MaxSpan/time.Millisecond))
	rapid.Check(t, func(rt *rapid.T) {
		r := &Record{
			LockID: graphic.Draw(rt, "lock"), WorktreeID: anyID(rt, "id"), HolderID: Named(text(60).Draw(rt, "holder")), HolderNonce: graphic.Draw(rt, "nonce"),
			SessionID: graphic.Draw(rt, "session"), AcquireSeq: count.Draw(rt, "seq"), CreatedAt: at.Draw(rt, "created"), LastRenewedAt: at.Draw(rt, "renewed"),
			LeaseDurationMS: ms.Draw(rt, "lease"), RenewIntervalMS: ms.Draw(rt, "renew"), MaxClockSkewMS: ms.Draw(rt, "skew"), StealGraceMS: ms.Draw(rt, "grace"),
			FencingToken: Token(rapid.Uint64Range(1, uint64(MostToken)).Draw(rt, "token")), Released: rapid.Bool().Draw(rt, "released"),
			Scope: "tree", ScopeKey: text(60).Draw(rt, "key"), HostBootID: "b", PIDNamespace: "pid:[1]", Purpose: text(60).Draw(rt, "purpose"),
			RenewCount: count.Draw(rt, "count"), UID: rapid.Uint32().Draw(rt, "uid"), Auto: rapid.Bool().Draw(rt, "auto"),
		}
		r.LeaseExpiresAt = r.LastRenewedAt.Add(time.Duration(rapid.Int64Range(0, int64(MaxSpan)).Draw(rt, "lasts")))
		if rapid.Bool().Draw(rt, "offered") {
			r.OfferedTo, r.OfferUntil = Named(text(60).Draw(rt, "host")), at.Draw(rt, "until")
		}
		if h := ParseHolderID(r.HolderID); h.PID > mostPID {
			return
		}
		b, err := r.Encode()
		if err != nil {
			return // it does not fit
		}
		back, err := Parse(b, r.WorktreeID)
		if err != nil {
			rt.Fatalf("%s: %v", b, err)
		}
		if fmt.Sprintf("%#v", *back) != fmt.Sprintf("%#v", *r) {
			rt.Fatalf("wrote %#v, read %#v", *r, *back)
		}
	})
}

// New makes a readable record of any holder and any token.
func TestOurOwnRecordsAreWithinBounds(t *testing.T) {
	long := strings.Repeat("é\x1b<", 400)
	h := Holder{Host: long, User: long, PID: mostPID, StartTime: 1 << 63, Scope: "tree", ScopeKey: "/a\nb", Purpose: "line\nline"}
	for prev, before := range map[Token]*Record{0: nil, MostToken - 1: {AcquireSeq: uint64(MostToken)}} {
		r := New("main", DefaultPolicy(), h, prev, before, time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC))
		r.RenewCount = NextCount(uint64(MostToken))
		r.OfferedTo = Clip(Named(long), MaxText)
		b, err := json.Marshal(r)
		require.NoError(t, err)
		_, err = Parse(b, "main")
		require.NoError(t, err)
	}
}

func TestNestingOfJSONIsCounted(t *testing.T) {
	for text, want := range map[string]int{`1`: 0, `"[[{"`: 0, `"\"[["`: 0, `[]`: 1, `{"a":[{}],"b":{}}`: 3, `["]",[1]]`: 2, `"\\"`: 0} {
		require.Equal(t, want, nesting(json.RawMessage(text)), text)
	}
}
