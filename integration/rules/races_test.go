package rules

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A race is let loose: all are brought to the point where it begins, and then go on at once. With the rule no round of it
// may be broken. Without, their number is told where JVSFS_RULE_ROUNDS is set; that many rounds are run then.
type race struct {
	program    *program
	contenders int
	round      func(s *scene, all []*process) (broken string)
}

var races = []race{
	{&af, 3, afRace},
	{&agency, 8, agencyRace},
	{&jit, 3, jitRace},
	{&entwurf, 6, entwurfRace},
	{&jvsLocks, 8, jvsRace},
}

func rounds() (n int, asked bool) {
	n, err := strconv.Atoi(os.Getenv("JVSFS_RULE_ROUNDS"))
	if err != nil {
		return 2, false
	}
	return n, true
}

func TestRacesOfProgramsNeverGoWrongUnderRules(t *testing.T) {
	n, asked := rounds()
	for _, r := range races {
		if asked {
			t.Run(r.program.preset+"/natively", func(t *testing.T) {
				broken := r.run(t, r.program.natively(t), n)
				t.Logf("%d of %d rounds are broken, such as %s", len(broken), n, slices.Concat(broken, []string{"none"})[0])
			})
		}
		if slices.Contains(enforced, r.program.preset) {
			t.Run(r.program.preset, func(t *testing.T) { require.Empty(t, r.run(t, r.program.mounted(t), n)) })
		}
	}
}

// run plays in the place after that of the last story.
func (r race) run(t *testing.T, s scene, rounds int) (broken []string) {
	s.t, s.base = t, t.TempDir()
	s.dir, s.what = r.program.place(len(r.program.stories()))
	var all []*process
	for i := range r.contenders {
		all = append(all, s.process(fmt.Sprint("contender ", i)))
	}
	for n := range rounds {
		if why := r.round(&s, all); why != "" {
			broken = append(broken, fmt.Sprint("round ", n, ": ", why))
		}
	}
	return broken
}

// loose brings all to the point, and lets them go on at once.
func loose(all []*process, c func(i int) call) []string {
	var at []*stopped
	for i, p := range all {
		at = append(at, p.stops(c(i)))
	}
	for _, st := range at {
		st.open()
	}
	var words []string
	for _, st := range at {
		words = append(words, st.goesOn())
	}
	return words
}

// winners are those who were answered so; more than one is broken.
func winners(words []string, prefix string) (all []int, broken string) {
	for i, w := range words {
		if strings.HasPrefix(w, prefix) {
			all = append(all, i)
		}
	}
	if len(all) > 1 {
		broken = fmt.Sprintf("%d of %d: %s", len(all), len(words), strings.Join(words, ", "))
	}
	return all, broken
}

// A slow writer goes on while another has its lock removed and appends.
func afRace(s *scene, all []*process) string {
	slow := all[0].stops(call{op: "af.append", data: "slow's", at: "before the rename"})
	rm := all[1].Begin(harness.Command{Op: "unlink", Path: s.file("ledger.lock")})
	fast := all[2].Begin(call{op: "af.append", data: "fast's", patience: 50 * time.Millisecond}.command(s, ""))
	first := slow.goesOn()
	<-rm
	second := word(<-fast)
	if first == second && strings.HasPrefix(first, "event") {
		return "both are " + first
	}
	return ""
}

func agencyRace(s *scene, all []*process) string {
	gone := s.process("gone")
	gone.does(call{op: "agency.lock", what: s.what})
	gone.dies()
	words := loose(all, func(int) call { return call{op: "agency.lock", what: s.what, at: "it is stale"} })
	have, broken := winners(words, "taken")
	for _, i := range have {
		all[i].does(call{op: "agency.unlock", what: s.what})
	}
	if len(have) == 0 {
		return "nobody has it: " + strings.Join(words, ", ")
	}
	return broken
}

// The lock file is removed under one who saves, and another saves.
func jitRace(s *scene, all []*process) string {
	s.n++
	one, two := fmt.Sprint("one", s.n), fmt.Sprint("two", s.n)
	held := all[0].stops(call{op: "jit.save", what: one, data: "{}", at: "the index is read"})
	rm := all[1].Begin(harness.Command{Op: "unlink", Path: s.file(".index.lock")})
	other := all[2].Begin(call{op: "jit.save", what: two, data: "{}", patience: 50 * time.Millisecond}.command(s, ""))
	words := map[string]string{one: held.goesOn(), two: word(<-other)}
	<-rm
	index := s.content("index.json")
	for id, w := range words {
		if w == "saved" && !strings.Contains(index, `"`+id+`"`) {
			return id + " is saved and not in the index"
		}
	}
	return ""
}

// All but one find the lock dead. That one removes it whoever has it, and takes it.
func entwurfRace(s *scene, all []*process) string {
	gone := s.process("gone")
	gone.does(s.acquire())
	gone.dies()
	answers := make([]<-chan harness.Reply, 0, len(all))
	rm := all[0].Begin(harness.Command{Op: "unlink", Path: s.file(s.what + ".lock")})
	for _, p := range all[1:] {
		answers = append(answers, p.Begin(s.acquire().command(s, "")))
	}
	<-rm
	var words []string
	for _, a := range answers {
		words = append(words, word(<-a))
	}
	have, broken := winners(words, "acquired")
	for _, i := range have {
		all[i+1].does(s.release())
	}
	_ = os.Remove(s.file(s.what + ".lock")) // of a round that was broken
	return broken
}

func jvsRace(s *scene, all []*process) string {
	was := s.process("was")
	was.does(call{op: "jvs.acquire", what: s.what, data: "was", clock: past})
	words := loose(all, func(i int) call {
		return call{op: "jvs.steal", what: s.what, data: fmt.Sprint("thief ", i), at: "the record is read"}
	})
	have, broken := winners(words, "token")
	for _, i := range have {
		all[i].does(call{op: "jvs.release", what: s.what, data: fmt.Sprint("thief ", i)})
	}
	return broken
}
