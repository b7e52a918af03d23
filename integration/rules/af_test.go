package rules

import (
	"time"
)

var af = program{
	preset: "af", place: below("proof%d/ledger"),
	holes: []story{
		{"a slow writer over a newer event", afSlowWriter,
			"rm: ; fast: event 2; slow: event 2; event 2 is slow's",
			"rm: EROFS; fast: timeout waiting for lock; slow: event 2; event 2 is slow's"},
		{"a late release of a successor's lock", afLateRelease,
			"rm: ; the lock after the slow one's release: gone; third: event 2; fast: event 2; event 2 is fast's",
			"rm: EROFS; the lock after the slow one's release: gone; third: event 2; fast: event 3; event 2 is third's"},
		{"an event that is changed", afChanged,
			"written: ; removed: ",
			"written: EROFS; removed: EROFS"},
		{"a writer that was killed", afKilled,
			"the lock: stays; next: timeout waiting for lock",
			"the lock: gone; next: event 1"},
	},
	everyday: []story{
		{name: "appends", plays: afAppends, natively: "event 1; events 2 and 3; rolled back; event 4; 1 2 2 4"},
		{name: "a lock that is waited for", plays: afWaits, natively: "event 1; event 2"},
	},
}

func afSlowWriter(s *scene, _ bool) string {
	first, slow, fast := s.process("first"), s.process("slow"), s.process("fast")
	first.does(call{op: "af.append", data: "first's"})
	held := slow.stops(call{op: "af.append", data: "slow's", at: "before the rename"})
	rm := s.removes("ledger.lock") // as the document says: it is too old
	second := fast.does(call{op: "af.append", data: "fast's"})
	return told("rm: "+rm, "fast: "+second, "slow: "+held.goesOn(), "event 2 is "+s.content("000002.json"))
}

// The name in the lock is that of the operation. So the slow writer takes the lock of the fast one for its own.
func afLateRelease(s *scene, ruled bool) string {
	slow, fast, third := s.process("slow"), s.process("fast"), s.process("third")
	late := slow.stops(call{op: "af.append", data: "slow's", at: "before the release"})
	rm := s.removes("ledger.lock")
	if ruled { // the fast one cannot have it yet
		late.goesOn()
		lock := s.stays("ledger.lock", true)
		last := third.does(call{op: "af.append", data: "third's"})
		return told("rm: "+rm, "the lock after the slow one's release: "+lock, "third: "+last,
			"fast: "+fast.does(call{op: "af.append", data: "fast's"}), "event 2 is "+s.content("000002.json"))
	}
	held := fast.stops(call{op: "af.append", data: "fast's", at: "before the rename"})
	late.goesOn()
	lock := s.stays("ledger.lock", false)
	last := third.does(call{op: "af.append", data: "third's"})
	return told("rm: "+rm, "the lock after the slow one's release: "+lock, "third: "+last,
		"fast: "+held.goesOn(), "event 2 is "+s.content("000002.json"))
}

func afChanged(s *scene, _ bool) string {
	s.process("one").does(call{op: "af.append", data: "one's"})
	return told("written: "+s.overwrites("000001.json", "forged"), "removed: "+s.removes("000001.json"))
}

func afKilled(s *scene, ruled bool) string {
	s.process("one").stops(call{op: "af.append", data: "one's", at: "before the rename"}).dies()
	lock := s.stays("ledger.lock", ruled)
	return told("the lock: "+lock, "next: "+s.process("two").does(call{op: "af.append", data: "two's"}))
}

func afAppends(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	said := told(one.does(call{op: "af.append", data: "1"}), two.does(call{op: "af.batch", data: "2"}),
		one.does(call{op: "af.batch", data: "fails"}), two.does(call{op: "af.append", data: "4"}))
	return told(said, s.content("000001.json")+" "+s.content("000002.json")+" "+s.content("000003.json")+" "+s.content("000004.json"))
}

func afWaits(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	held := one.stops(call{op: "af.append", data: "1", at: "before the rename"})
	waits := two.Begin(call{op: "af.append", data: "2", patience: time.Hour}.command(s, ""))
	return told(held.goesOn(), word(<-waits))
}
