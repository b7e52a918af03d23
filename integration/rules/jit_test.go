package rules

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/rules/systems"
)

var jit = program{
	preset: "jit", place: below("project%d/.jit"),
	before: func(t testing.TB, dir, _ string) {
		_, err := systems.Operations["jit.init"](systems.Call{Dir: dir})
		require.NoError(t, err)
	},
	holes: []story{
		{"a write without the flock", jitWithout,
			`rogue: ; one: saved; {"all_ids":["a"]}`,
			`rogue: EROFS; one: saved; {"all_ids":["a"]}`},
		{"the lock file is removed while it is locked", jitRemoved,
			`rm: ; two: saved; one: saved; {"all_ids":["a"]}`,
			`rm: EROFS; two: lock timeout; one: saved; {"all_ids":["a"]}`},
		{"the log is cut off", jitCut, "appended; cut: ; none", "appended; cut: EROFS; an event\n"},
	},
	everyday: []story{
		{name: "readers and writers of many sessions", plays: jitWorks, natively: "saved; a; saved; a b; a b; deleted; b; appended"},
		{name: "forty issues by eight at once", plays: jitForty, natively: "40 saved; 40 in the index"},
	},
}

func jitWithout(s *scene, _ bool) string {
	held := s.process("one").stops(call{op: "jit.save", what: "a", data: "{}", at: "the index is read"})
	rogue := s.process("rogue")
	rogue.OK(harness.Command{Op: "writefile", Path: s.file("rogue.tmp"), Flags: createIt, Mode: 0o644, Data: []byte(`{"all_ids":["rogue"]}`)})
	said := word(rogue.Do(harness.Command{Op: "rename", Path: s.file("rogue.tmp"), To: s.file("index.json")}))
	return told("rogue: "+said, "one: "+held.goesOn(), s.content("index.json"))
}

func jitRemoved(s *scene, _ bool) string {
	held := s.process("one").stops(call{op: "jit.save", what: "a", data: "{}", at: "the index is read"})
	rm := s.removes(".index.lock")
	two := s.process("two").does(call{op: "jit.save", what: "b", data: "{}"})
	return told("rm: "+rm, "two: "+two, "one: "+held.goesOn(), s.content("index.json"))
}

func jitCut(s *scene, _ bool) string {
	said := s.process("one").does(call{op: "jit.event", data: "an event"})
	cut := word(s.process("shell").Do(harness.Command{Op: "truncate", Path: s.file("events.jsonl")}))
	left := s.content("events.jsonl")
	if left == "" {
		left = "none"
	}
	return told(said, "cut: "+cut, left)
}

func jitWorks(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	list := call{op: "jit.list", patience: time.Hour}
	return told(one.does(call{op: "jit.save", what: "a", data: "{}"}), two.does(list),
		two.does(call{op: "jit.save", what: "b", data: "{}"}), one.does(list), two.does(list),
		one.does(call{op: "jit.delete", what: "a"}), two.does(list), two.does(call{op: "jit.event", data: "an event"}))
}

func jitForty(s *scene, _ bool) string {
	var all sync.WaitGroup
	words := make(chan string, 40)
	for i := range 8 {
		p := s.process(fmt.Sprint("writer ", i))
		all.Go(func() {
			for k := range 5 {
				r, err := p.Try(call{op: "jit.save", what: fmt.Sprintf("%d-%d", i, k), data: "{}", patience: time.Hour}.command(s, ""))
				if err != nil {
					r.Errno = err.Error()
				}
				words <- word(r)
			}
		})
	}
	all.Wait()
	close(words)
	saved := 0
	for said := range words {
		if said == "saved" {
			saved++
		}
	}
	return fmt.Sprintf("%d saved; %d in the index", saved, strings.Count(s.content("index.json"), "-"))
}
