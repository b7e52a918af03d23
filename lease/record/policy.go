package record

import (
	"fmt"
	"time"
)

// Policy is the timing of a lease (locking spec v6.3, default policy values). Whole milliseconds.
type Policy struct {
	LeaseDuration time.Duration // how long a renewal lasts
	RenewInterval time.Duration // how often it is renewed; also the holder's margin before expiry
	MaxClockSkew  time.Duration // two hosts' wall clocks differ by no more
	StealGrace    time.Duration // a takeover waits for this, too
}

// MaxSpan bounds every duration read from a record, so that no sum of them overflows.
const MaxSpan = 366 * 24 * time.Hour

// DefaultPolicy is the spec's: 30 s, 10 s, 2 s, 1 s.
func DefaultPolicy() Policy {
	return Policy{
		LeaseDuration: 30 * time.Second,
		RenewInterval: 10 * time.Second,
		MaxClockSkew:  2 * time.Second,
		StealGrace:    time.Second,
	}
}

// Validate says what is wrong with the policy. Plain error.
func (p Policy) Validate() error {
	for _, f := range []struct {
		name string
		d    time.Duration
		min  time.Duration
	}{
		{"lease_duration", p.LeaseDuration, 10 * time.Millisecond},
		{"renew_interval", p.RenewInterval, time.Millisecond},
		{"max_clock_skew", p.MaxClockSkew, 0},
		{"steal_grace", p.StealGrace, 0},
	} {
		switch {
		case f.d < f.min:
			return fmt.Errorf("%s is %v, less than %v", f.name, f.d, f.min)
		case f.d > MaxSpan:
			return fmt.Errorf("%s is %v, more than %v", f.name, f.d, MaxSpan)
		case f.d%time.Millisecond != 0:
			return fmt.Errorf("%s is %v, not whole milliseconds", f.name, f.d)
		}
	}
	if p.RenewInterval >= p.LeaseDuration {
		return fmt.Errorf("renew_interval %v is not shorter than lease_duration %v", p.RenewInterval, p.LeaseDuration)
	}
	return nil
}

// Window is the time from t0 to the holder's deadline (rule 2).
func (p Policy) Window() time.Duration { return p.LeaseDuration - p.RenewInterval }

// RenewAfter is the time from t0 to the next renewal. It is always well before the deadline.
func (p Policy) RenewAfter() time.Duration { return min(p.RenewInterval, p.Window()/2) }

// CloseLead is how long before the deadline an epoch is closed: the drain must begin before the deadline.
func (p Policy) CloseLead() time.Duration { return min(20*time.Millisecond, p.Window()/16) }

// PauseLead is the same for a holder that is stopped and may go on: what it has stored through mappings is written back meanwhile.
func (p Policy) PauseLead() time.Duration { return p.Window() / 8 }

// Stricter is the larger of each duration.
func (p Policy) Stricter(q Policy) Policy {
	return Policy{
		LeaseDuration: max(p.LeaseDuration, q.LeaseDuration),
		RenewInterval: max(p.RenewInterval, q.RenewInterval),
		MaxClockSkew:  max(p.MaxClockSkew, q.MaxClockSkew),
		StealGrace:    max(p.StealGrace, q.StealGrace),
	}
}

// Milder is p with the smaller skew and grace, on which TakeWithin depends.
func (p Policy) Milder(q Policy) Policy {
	p.MaxClockSkew, p.StealGrace = min(p.MaxClockSkew, q.MaxClockSkew), min(p.StealGrace, q.StealGrace)
	return p
}

// Silence is how long a record must be seen unchanged to prove its holder stopped (rule 6).
func (p Policy) Silence() time.Duration { return p.LeaseDuration + p.MaxClockSkew + p.StealGrace }

// TakeWithin is the time that a taker has from before it sees an offer until it holds, by its own boot clock (rule 14).
func (p Policy) TakeWithin() time.Duration { return p.MaxClockSkew + p.StealGrace }
