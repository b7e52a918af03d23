package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var jvsLocks = program{
	preset: "jvs-locks", place: within("w%d"), repository: true,
	before: func(t testing.TB, dir, what string) {
		for _, d := range []string{".jvs/worktrees", "worktrees"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, d, what), 0o755))
		}
	},
	holes: []story{
		{"two steal one lock", jvsDoubleSteal,
			"first: token 2; second: token 2", "first: token 2; second: EROFS"},
		{"a renewal that comes late", jvsLateRenewal,
			"thief: token 2; late: renewed, token 1; on disk: token 1", "thief: token 2; late: EROFS; on disk: token 2"},
		{"the token after a release", jvsTokenAfterRelease,
			"next: token 1; the one before: written", "next: token 1; the one before: EROFS"},
		{"a live lock is removed", jvsRemoved, "rm: ; second: token 1", "rm: EROFS; second: E_LOCK_CONFLICT"},
	},
	everyday: []story{
		{name: "acquire, renew, write, release", plays: jvsWorks, natively: "token 1; renewed, token 1; written; E_LOCK_CONFLICT; E_LOCK_CONFLICT; released; token 1"},
		{name: "an expired lock is stolen", plays: jvsStolen, natively: "token 1; token 2; E_LOCK_NOT_HELD; written; released"},
	},
}

// past is what the clock of one shows whose lease has ended long ago.
const past = -time.Hour

func jvsDoubleSteal(s *scene, _ bool) string {
	s.process("was").does(call{op: "jvs.acquire", what: s.what, data: "was", clock: past})
	first, second := s.process("first"), s.process("second")
	one := first.stops(call{op: "jvs.steal", what: s.what, data: "first", at: "the record is read"})
	two := second.stops(call{op: "jvs.steal", what: s.what, data: "second", at: "the record is read"})
	return told("first: "+one.goesOn(), "second: "+two.goesOn())
}

// The slow one has judged its record in time. Then its lease ends.
func jvsLateRenewal(s *scene, _ bool) string {
	slow, thief := s.process("slow"), s.process("thief")
	slow.does(call{op: "jvs.acquire", what: s.what, data: "slow", clock: past})
	late := slow.stops(call{op: "jvs.renew", what: s.what, data: "slow", clock: past, at: "the record is read"})
	stolen := thief.does(call{op: "jvs.steal", what: s.what, data: "thief"})
	return told("thief: "+stolen, "late: "+late.goesOn(), "on disk: "+s.token())
}

func (s *scene) token() string {
	var r struct {
		Token int64 `json:"fencing_token"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.content(".jvs/worktrees/"+s.what+"/lock.json")), &r))
	return fmt.Sprint("token ", r.Token)
}

func jvsTokenAfterRelease(s *scene, _ bool) string {
	before, next := s.process("before"), s.process("next")
	before.does(call{op: "jvs.acquire", what: s.what, data: "before"})
	before.does(call{op: "jvs.release", what: s.what, data: "before"})
	said := next.does(call{op: "jvs.acquire", what: s.what, data: "next"})
	return told("next: "+said, "the one before: "+before.does(call{op: "jvs.write", what: s.what, data: "1:stale"}))
}

func jvsRemoved(s *scene, _ bool) string {
	first, second := s.process("first"), s.process("second")
	first.does(call{op: "jvs.acquire", what: s.what, data: "first"})
	return told("rm: "+s.removes(".jvs/worktrees/"+s.what+"/lock.json"), "second: "+second.does(call{op: "jvs.acquire", what: s.what, data: "second"}))
}

func jvsWorks(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	return told(one.does(call{op: "jvs.acquire", what: s.what, data: "one"}), one.does(call{op: "jvs.renew", what: s.what, data: "one"}),
		one.does(call{op: "jvs.write", what: s.what, data: "1:x"}), two.does(call{op: "jvs.acquire", what: s.what, data: "two"}),
		two.does(call{op: "jvs.steal", what: s.what, data: "two"}), one.does(call{op: "jvs.release", what: s.what, data: "one"}),
		two.does(call{op: "jvs.acquire", what: s.what, data: "two"}))
}

func jvsStolen(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	return told(one.does(call{op: "jvs.acquire", what: s.what, data: "one", clock: past}),
		two.does(call{op: "jvs.steal", what: s.what, data: "two"}), one.does(call{op: "jvs.renew", what: s.what, data: "one"}),
		two.does(call{op: "jvs.write", what: s.what, data: "2:x"}), two.does(call{op: "jvs.release", what: s.what, data: "two"}))
}
