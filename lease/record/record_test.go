package record

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var somebody = Holder{Host: "h", User: "ann", PID: 10, StartTime: 7, BootID: "b", PIDNamespace: "pid:[1]", Scope: "tree"}

// sample is a record of token 9.
func sample() *Record {
	h := somebody
	h.Purpose, h.UID, h.ScopeKey = "naïve <edit>", 5, "/a/b"
	return New("main", DefaultPolicy(), h, 8, nil, time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC))
}

func TestRecordRoundTripKeepsUnknownFields(t *testing.T) {
	r := sample()
	b, err := r.Encode()
	require.NoError(t, err)
	require.Len(t, b, Size)
	require.True(t, strings.HasSuffix(string(b), " \n"))
	back, err := Parse(b, "main")
	require.NoError(t, err)
	require.Equal(t, r, back)
	require.Equal(t, somebody.ID(), back.Holder().ID())
	require.Equal(t, DefaultPolicy(), back.Policy())
	require.Equal(t, r.LeaseExpiresAt.Add(3*time.Second), back.StealableAt())

	more := strings.Replace(string(b), "{", `{"zz":{"a":[1, 2]},"Fencing_Token":99,"aa":null,`, 1)
	back, err = Parse([]byte(more), "main")
	require.NoError(t, err)
	require.EqualValues(t, 9, back.FencingToken)
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.Contains(t, string(again), `"Fencing_Token":99,"aa":null,"zz":{"a":[1,2]}}`)
	_, err = Parse(again, "main")
	require.NoError(t, err)
}

func TestABrokenRecordIsRefused(t *testing.T) {
	b, err := json.Marshal(sample())
	require.NoError(t, err)
	s := string(b)
	for name, c := range map[string]struct{ body, want string }{
		"empty":          {"", "empty"},
		"blank":          {strings.Repeat(" ", 100), "empty"},
		"zeros":          {strings.Repeat("\x00", 4096), "parse"},
		"torn":           {s[:len(s)/2], "parse"},
		"two records":    {s + s, "parse"},
		"other worktree": {strings.Replace(s, `"worktree_id":"main"`, `"worktree_id":"dev"`, 1), `worktree "dev"`},
		"missing field":  {strings.Replace(s, `"lease_expires_at"`, `"x"`, 1), "lease_expires_at is missing"},
		"null field":     {strings.Replace(s, `"acquire_seq":1`, `"acquire_seq":null`, 1), "acquire_seq is missing"},
		"token 0":        {strings.Replace(s, `"fencing_token":9`, `"fencing_token":0`, 1), "token is 0"},
		"token negative": {strings.Replace(s, `"fencing_token":9`, `"fencing_token":-1`, 1), "parse"},
		"huge duration":  {strings.Replace(s, `_ms":30000`, `_ms":9223372036854775807`, 1), "duration"},
		"array":          {"[]", "parse"},
	} {
		_, err := Parse([]byte(c.body), "main")
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestARecordThatDoesNotFitIsRefused(t *testing.T) {
	r := sample()
	r.Purpose = strings.Repeat("x", Size)
	_, err := r.Encode()
	require.Error(t, err)
	require.LessOrEqual(t, len(Clip(strings.Repeat("ä", 600), MaxText)), MaxText)
}

// A foreign tool adds fields to the record of a live holder. They are within their bounds; the holder must be able to renew.
func TestForeignFieldsNeverTakeALeaseAway(t *testing.T) {
	for _, note := range []string{strings.Repeat("<", 2000), strings.Repeat("&", 2000), strings.Repeat("\u2028", 600)} {
		r := sample()
		r.Purpose = strings.Repeat("<", MaxText)
		text, err := json.Marshal(note)
		require.NoError(t, err)
		r.extra = map[string]json.RawMessage{"n": []byte(strings.NewReplacer(`\u003c`, "<", `\u0026`, "&", `\u2028`, "\u2028").Replace(string(text)))}
		require.Empty(t, r.implausible("main"))
		b, err := r.Encode()
		require.NoError(t, err)
		back, err := Parse(b, "main")
		require.NoError(t, err)
		require.Equal(t, r.Purpose, back.Purpose)
		require.Contains(t, back.extra, "n")
	}
	r := sample()
	r.Purpose = strings.Repeat("\x01", MaxText)
	r.extra = map[string]json.RawMessage{"n": []byte(`"` + strings.Repeat("x", 2000) + `"`)}
	require.Empty(t, r.implausible("main"))
	_, err := r.Encode()
	require.NoError(t, err, "without the foreign field")
}

func TestAHoldersIdIsParsedWhateverItsHost(t *testing.T) {
	require.Equal(t, Holder{Host: "a::b", User: "u", PID: 3, StartTime: 4}, ParseHolderID("a::b:u:3:4"))
	require.Equal(t, Holder{Host: "odd"}, ParseHolderID("odd"))
	require.Equal(t, Holder{Host: "h:u:x:4"}, ParseHolderID("h:u:x:4"))
}

func FuzzParse(f *testing.F) {
	b, err := sample().Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"worktree_id":"main"}`))
	f.Add([]byte("\xff\x00{"))
	for _, b := range allBounds() {
		for _, set := range []func(*Record){b.last, b.out} {
			r := sample()
			set(r)
			text, err := json.Marshal(r)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b, "main")
		if err != nil {
			return
		}
		out, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := Parse(out, "main")
		require.NoError(t, err)
		require.Equal(t, r.FencingToken, back.FencingToken)
		require.True(t, r.LeaseExpiresAt.Equal(back.LeaseExpiresAt))
		require.Len(t, back.extra, len(r.extra))
		_ = r.Holder().ID()
	})
}
