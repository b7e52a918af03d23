package main

// The edits of the mutants. All of them are in one program: inject.Broken says which of them it is.

var noDrain = []edit{{"gate/epoch.go",
	"	e.close()\n	_ = e.drain(context.Background())",
	"	e.close()\n	if inject.Broken(\"no_drain\") {\n		return\n	}\n	_ = e.drain(context.Background())"}}

// literalClaim is the spec's claim: a rename that does not ask what it replaces.
var literalClaim = []edit{{"lease/claim.go",
	"	linked := disk(\"claim.link\",",
	"	if inject.Broken(\"no_claim\", \"literal_steal\") && unix.Renameat(s.dir.fd, c.tmp, s.dir.fd, name) == nil {\n		return true, nil\n	}\n	linked := disk(\"claim.link\","}}

// literalSteal takes no exclusive lock, either.
var literalSteal = append([]edit{{"lease/gatelock.go",
	"	err := retry(func() error { return flock(l.fd, how|unix.LOCK_NB) })",
	"	err := retry(func() error {\n		if inject.Broken(\"literal_steal\") && how&unix.LOCK_EX != 0 {\n			return nil\n		}\n		return flock(l.fd, how|unix.LOCK_NB)\n	})"}},
	literalClaim...)

// lateCount looks first and counts afterwards.
var lateCount = []edit{{"gate/epoch.go",
	"func (e *epoch) enter(clock lease.Clock) bool {\n",
	`func (e *epoch) enter(clock lease.Clock) bool {
	if inject.Broken("late_count") {
		if e.stopped.Load() != nil || e.over(clock.Boot()) {
			return false
		}
		inject.Point("enter.before_count")
		e.inflight.Add(1)
		return true
	}
`}}

var noAudit = []edit{{"lease/steal.go",
	"	err := tk.k.tell.Now(e)\n	if err != nil {",
	"	err := tk.k.tell.Now(e)\n	if err != nil && !inject.Broken(\"no_audit\") {"}}

// noDeadline leaves no look at the deadline: neither before a mutation, nor after it, nor for who opens something.
var noDeadline = []edit{{"gate/epoch.go", "if now >= d {", "if !inject.Broken(\"no_deadline\") && now >= d {"},
	{"gate/epoch.go", "return int64(now) >= e.deadline.Load() }", "return !inject.Broken(\"no_deadline\") && int64(now) >= e.deadline.Load() }"}}

// literalRenew reads the record at the path, checks that it is ours, renames a new one over the file that is
// there by then, and trusts that. It does not look for a successor either.
var literalRenew = []edit{{"lease/successor.go",
	"func (c *claim) successor() (found bool, err error) {\n",
	"func (c *claim) successor() (found bool, err error) {\n	if inject.Broken(\"literal_renew\") {\n		return false, nil\n	}\n"}, {"lease/renewal.go",
	"	rec, err := h.claim.Check()\n	if err != nil {\n		return r.sawSuccessor(err)\n	}\n	k.cfg.Pause(\"renew.before_write\")\n",
	`	s, v := k.store, Head{}
	if inject.Broken("literal_renew") {
		v = s.readRecordFile(s.viewName())
	}
	if v.Record != nil && v.Record.HolderNonce == h.claim.Record().HolderNonce {
		k.cfg.Pause("renew.before_write")
		r.t0 = readClocks(k.cfg.Clock)
		rec := r.renewed(v.Record)
		if c, err := s.bear(rec); err == nil {
			if unix.Renameat(s.dir.fd, c.tmp, s.dir.fd, c.name()) == nil && s.putView(rec.FencingToken) == nil {
				c.tmp = ""
				h.claim.Close()
				h.claim = c
				r.extend()
				return false, nil
			}
			c.discard()
		}
	}
	rec, err := h.claim.Check()
	if err != nil {
		return r.sawSuccessor(err)
	}
	k.cfg.Pause("renew.before_write")
`}, {"lease/renewal.go", "import (\n", "import (\n	\"golang.org/x/sys/unix\"\n"}}

var noFreeze = []edit{{"gate/epoch_freeze.go",
	"	if err := e.drain(ctx); err != nil {\n		e.thaw(s)\n",
	"	if inject.Broken(\"no_hold\", \"no_hold_offer\") {\n		return s, nil\n	}\n	if err := e.drain(ctx); err != nil {\n		e.thaw(s)\n"}}

// oldHandles lets what was opened before anybody else held go on, too.
var oldHandles = []edit{{"gate/resume.go", "&& e.since <= id.number && id.number < e.id.number", "&& (e.since <= id.number || inject.Broken(\"old_handles\")) && id.number < e.id.number"}}

var noSwitch = []edit{{"gate/enforcement.go",
	"	waiting := s.former()\n",
	"	waiting := s.former()\n	if inject.Broken(\"no_switch\") {\n		return nil\n	}\n"}}

var noPermission = []edit{{"fusefs/permission.go",
	"		t.mayIt, t.answer = judgeTouch(t.facts())\n",
	"		t.mayIt, t.answer = judgeTouch(t.facts())\n		t.mayIt = t.mayIt || inject.Broken(\"no_permission\")\n"}}
