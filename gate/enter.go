package gate

// Enter decides whether a mutation may go ahead and counts it in flight. It is the one decision
// point of the file system. If the refusal is nil, End must follow; otherwise nothing was
// counted. Under an open epoch it costs a handle a count, four loads and a clock read, and a writer
// a look into the caches of the resolver. While a lease is being handed over Enter waits, but not
// for long.
func (g *Guard) Enter(r Request) (Pass, *Refusal) {
	for {
		under := g.cfg.Enforcement.now.Load()
		a := attempt{g, r, under.mode}
		p, no := a.judge()
		switch {
		case no == nil && g.cfg.Enforcement.now.Load() == under: // count first, look afterwards
			if f := g.frozen.Load().bars(r); f != nil {
				p.undo(r)
				if no = a.thawed(f); no != nil {
					return Pass{}, no
				}
				continue
			}
			if !r.probe {
				g.count(p)
			}
			if r.queued == nil {
				g.cfg.Enforcement.retries.Passed(r.Caller.TID)
			}
			return p, nil
		case no == nil: // the mode was switched meanwhile: decide again
			p.undo(r)
		default:
			if no.Reason == reasonNoRight { // the lease has nothing to do with it
				return Pass{}, no
			}
			if r.Killed() { // nobody is there to be told
				return Pass{}, a.killed()
			}
			no.Caller = r.Caller
			switch waits := a.willing(no); {
			case waits && r.queued == nil:
				return a.enterQueued()
			case waits || r.probe: // it goes on waiting, or comes to the gate itself
				return Pass{}, no
			}
			if p, no, done := a.carryOut(under, no); done {
				return p, no
			}
		}
	}
}

func (a attempt) judge() (Pass, *Refusal) {
	if a.Epoch != NoEpoch {
		return a.judgeHandle()
	}
	return a.judgeWriter()
}
