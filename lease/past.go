package lease

import (
	"slices"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Past is one claim by its record: who had it, and how it ended. The records alone say who lost a lease, so that a loss outlives the
// daemon and the mount.
type Past struct {
	Token   Token
	Holder  Holder // Auto: never taken on purpose
	End     PastEnd
	Expires time.Time // by its holder's wall clock
}

// PastEnd is how a claim ended.
type PastEnd int

// The ends of a claim.
const (
	PastLasts PastEnd = iota // it is the head and not released; [Judge] says whether its time is over
	PastGiven                // released, handed over, or continued by the same holder
	PastTaken                // its holder did not give it, and another holder has the next token
)

// PastKept is how many claims Past reads at most, the newest ones.
const PastKept = 1000

// Past is the claims from a token up to the head, oldest first, but the newest PastKept at most. It leaves out a record that cannot be
// read: nothing can be concluded from it.
func (s *Store) Past(from, head Token) ([]Past, error) {
	tokens, err := s.claims(from, head)
	if err != nil {
		return nil, err
	}
	if extra := len(tokens) - PastKept; extra > 0 {
		tokens = tokens[extra:]
	}
	var all []Past
	var next *record.Record
	for i := len(tokens) - 1; i >= 0; i-- {
		rec := s.readRecordFile(s.claimName(tokens[i])).Record
		if rec != nil && rec.FencingToken == tokens[i] {
			all = append(all, Past{Token: tokens[i], Holder: rec.Holder(), End: endOf(rec, next, i == len(tokens)-1), Expires: rec.LeaseExpiresAt})
		}
		next = rec
	}
	slices.Reverse(all)
	return all, nil
}

// Past is [Store.Past] of the keeper's worktree.
func (k *Keeper) Past(from, head Token) ([]Past, error) { return k.cfg.Authority.Past(from, head) }

// endOf is how the claim of a record ended. next is the record of the next token, nil if there is none that can be read.
func endOf(r, next *record.Record, head bool) PastEnd {
	switch {
	case r.Released:
		return PastGiven
	case head:
		return PastLasts
	case next != nil && next.FencingToken == r.FencingToken+1 && next.HandedOver:
		return PastGiven
	case next != nil && next.Holder().Same(r.Holder()):
		return PastGiven
	}
	return PastTaken
}

// fewClaims is how many names can be tried for less than a listing of the directory costs.
const fewClaims = 8

// claims are the tokens from..to whose claims exist, ascending.
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
			if t, ok := record.ParseDigits(rest); ok && t >= from && t <= to {
				tokens = append(tokens, t)
			}
		}
	}
	slices.Sort(tokens)
	return tokens, nil
}
