package rules

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/integration/harness"
)

var agency = program{
	preset: "agency", place: within("repo%d"),
	holes: []story{
		{"a late unlock", agencyLateUnlock,
			"second: taken; late unlock: unlocked; the lock: gone; third: taken; holders: 2",
			"second: locked; late unlock: unlocked; the lock: gone; third: taken; holders: 1"},
		{"eight contenders on a stale lock", agencyContenders,
			"8 of 8 have it", "1 of 8 have it"},
		{"a write without the lock", agencyWithout,
			"stranger: written; holder: written", "stranger: EROFS; holder: written"},
	},
	everyday: []story{
		{name: "lock, write, unlock", plays: agencyWorks, natively: "taken; written; locked; unlocked; taken; unlocked; written"},
		{name: "a stale lock is taken over", plays: agencyStale, natively: "taken; taken"},
	},
}

// hastyAgency is agency where a millisecond makes a lock stale, for nobody waits two hours here.
var hastyAgency = program{
	preset: "agency-hasty", place: within("repo%d"),
	rules: "- preset: agency\n  break: {gone: true, after: 1ms}\n",
	holes: []story{
		{"a late unlock of who was robbed", agencyRobbed,
			"second: taken; late unlock: unlocked; the lock: gone; third: taken",
			"second: taken; late unlock: EROFS; the lock: stays; third: locked"},
	},
}

func agencyRobbed(s *scene, _ bool) string {
	first, second, third := s.process("first"), s.process("second"), s.process("third")
	first.does(call{op: "agency.lock", what: s.what})
	harness.Eventually(s.t, "the lock is old", func() bool {
		return second.does(call{op: "agency.lock", what: s.what, clock: 3 * time.Hour}) == "taken"
	})
	unlocked := first.does(call{op: "agency.unlock", what: s.what})
	lock := s.stays("repos/"+s.what+"/.lock", false)
	return told("second: taken", "late unlock: "+unlocked, "the lock: "+lock, "third: "+third.does(call{op: "agency.lock", what: s.what}))
}

// The clock of the second shows three hours more: the first is at work for that long.
func agencyLateUnlock(s *scene, _ bool) string {
	first, second, third := s.process("first"), s.process("second"), s.process("third")
	first.does(call{op: "agency.lock", what: s.what})
	said := second.does(call{op: "agency.lock", what: s.what, clock: 3 * time.Hour})
	unlocked := first.does(call{op: "agency.unlock", what: s.what})
	lock := s.stays("repos/"+s.what+"/.lock", false)
	last := third.does(call{op: "agency.lock", what: s.what})
	holders := 0
	for _, word := range []string{said, last} {
		if word == "taken" {
			holders++
		}
	}
	return told("second: "+said, "late unlock: "+unlocked, "the lock: "+lock, "third: "+last, fmt.Sprint("holders: ", holders))
}

// All have found the lock stale before the first of them removes it.
func agencyContenders(s *scene, _ bool) string {
	gone := s.process("gone")
	gone.does(call{op: "agency.lock", what: s.what})
	var all []*stopped
	var contenders []*process
	for i := range 8 {
		contenders = append(contenders, s.process(fmt.Sprint("contender ", i)))
	}
	gone.dies()
	for _, p := range contenders {
		all = append(all, p.stops(call{op: "agency.lock", what: s.what, at: "it is stale"}))
	}
	holders := 0
	for _, p := range all {
		if p.goesOn() == "taken" {
			holders++
		}
	}
	return fmt.Sprintf("%d of %d have it", holders, len(all))
}

func agencyWithout(s *scene, _ bool) string {
	holder, stranger := s.process("holder"), s.process("stranger")
	holder.does(call{op: "agency.lock", what: s.what})
	write := call{op: "agency.write", what: s.what, data: "x"}
	return told("stranger: "+stranger.does(write), "holder: "+holder.does(write))
}

func agencyWorks(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	lock, unlock := call{op: "agency.lock", what: s.what}, call{op: "agency.unlock", what: s.what}
	write := call{op: "agency.write", what: s.what, data: "x"}
	return told(one.does(lock), one.does(write), two.does(lock), one.does(unlock), two.does(lock), two.does(unlock), one.does(write))
}

func agencyStale(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	said := one.does(call{op: "agency.lock", what: s.what})
	one.dies()
	return told(said, two.does(call{op: "agency.lock", what: s.what}))
}
