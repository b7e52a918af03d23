package lease

import (
	"slices"
	"strings"
	"time"
)

// Past is one claim as its record tells of it: who had it, and how it ended. What a loss must outlive, a daemon and a mount, stands
// there and nowhere else.
type Past struct {
	Token   Token
	Holder  Holder // Auto: never taken on purpose
	End     PastEnd
	Expires time.Time // when it ended, or would, by its holder's wall clock
}

// PastEnd is how a claim ended.
type PastEnd int

// The ends of a claim.
const (
	PastLasts PastEnd = iota // it is the head and not released; whether its time is over is for [Judge] to say
	PastGiven                // released, handed over, or continued by the same holder
	PastTaken                // its holder did not give it, and somebody else has the next token
)

// PastKept is how many claims are looked at, the newest ones: a bound on what reading them costs.
const PastKept = 1000

// Past tells of the claims from a token on up to the head, oldest first, but of the newest PastKept at most. A record that cannot be
// read is left out: nothing can be concluded from it.
func (s *Store) Past(from, head Token) ([]Past, error) {
	tokens, err := s.claims(from, head)
	if err != nil {
		return nil, err
	}
	if extra := len(tokens) - PastKept; extra > 0 {
		tokens = tokens[extra:]
	}
	var all []Past
	var next *Record
	for i := len(tokens) - 1; i >= 0; i-- {
		rec := s.readRecordFile(s.claimName(tokens[i])).Record
		if rec != nil && rec.FencingToken == tokens[i] {
			all = append(all, Past{Token: tokens[i], Holder: rec.Holder(), End: rec.end(next, i == len(tokens)-1), Expires: rec.LeaseExpiresAt})
		}
		next = rec
	}
	slices.Reverse(all)
	return all, nil
}

// Past tells of the claims of the keeper's worktree; see [Store.Past].
func (k *Keeper) Past(from, head Token) ([]Past, error) { return k.store.Past(from, head) }

// end is how the claim of a record ended; next is that of the next token, nil where it says nothing.
func (r *Record) end(next *Record, head bool) PastEnd {
	switch {
	case r.Released:
		return PastGiven
	case head:
		return PastLasts
	case next != nil && next.FencingToken == r.FencingToken+1 && next.HandedOver:
		return PastGiven
	case next != nil && next.Holder().same(r.Holder()):
		return PastGiven
	}
	return PastTaken
}

// fewClaims is up to how many claims it costs less to try their names than to list the directory.
const fewClaims = 8

// claims are the numbers among the claims' names, ascending.
func (s *Store) claims(from, to Token) (tokens []Token, err error) {
	if from > 0 && from <= to && to-from < fewClaims {
		for t := from; t <= to; t++ {
			if _, err := s.lookup(s.claimName(t)); err == nil {
				tokens = append(tokens, t)
			}
		}
		return tokens, nil
	}
	names, err := s.dir.names()
	if err != nil {
		return nil, s.failed("the lock directory cannot be listed", "", err)
	}
	prefix := string(s.id) + ".claim."
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if t, ok := parseDigits(rest); ok && t >= from && t <= to {
				tokens = append(tokens, t)
			}
		}
	}
	slices.Sort(tokens)
	return tokens, nil
}
