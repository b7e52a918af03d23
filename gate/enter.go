package gate

// Enter decides whether a mutation may go ahead and counts it in flight. It is the one decision
// point of the file system. If the refusal is nil, Leave must follow; otherwise nothing was
// counted. Under an open epoch it costs a handle a count, four loads and a clock read, and a writer
// a look into the caches of the resolver. While a lease is being handed over Enter waits, but not
// for long.
func (g *Guard) Enter(r Request) (Pass, *Refusal) {
	for {
		under := g.cfg.Enforcement.now.Load()
		p, no := g.judge(under.mode, r)
		switch {
		case no == nil && g.cfg.Enforcement.now.Load() == under: // count first, look afterwards
			if f := g.frozen.Load().bars(r); f != nil {
				p.undo(r)
				if no = g.thawed(f, r); no != nil {
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
				return Pass{}, g.killed(r)
			}
			no.Caller = r.Caller
			switch waits := g.willing(under.mode, r, no); {
			case waits && r.queued == nil:
				return g.enterQueued(r)
			case waits || r.probe: // it goes on waiting, or comes to the gate itself
				return Pass{}, no
			}
			if p, no, done := g.carryOut(under, no, r); done {
				return p, no
			}
		}
	}
}

func (g *Guard) judge(m Enforce, r Request) (Pass, *Refusal) {
	if r.Epoch != NoEpoch {
		return g.judgeHandle(m, r)
	}
	return g.judgeWriter(m, r)
}
