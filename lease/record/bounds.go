package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A record may come from another program, or from an enemy: the owner of a repository can put one there. Every number, time and text
// of it has bounds, which are wider than all that we write. A record outside of its bounds is unreadable.

const (
	// MostToken is the highest token that is granted, and the bound of every counter. Every JSON reader can tell it from its
	// neighbours. A million grants each second reach it in 285 years.
	MostToken = Token(1<<53 - 1)
	// MostForeign bounds the token of a foreign tool's view. The next token is above it, so it must not use the tokens up.
	MostForeign = Token(1 << 48)

	mostPID     = 1 << 22 // Linux: PID_MAX_LIMIT
	mostName    = 128     // bytes of an identifier: lock_id, nonce, session
	mostExtra   = 2048    // bytes of fields that are not ours: a rewritten record must fit Size
	mostNesting = 16      // of their values
)

// No clock of Linux can be set to a time outside of these (TIME_SETTOD_SEC_MAX). A time.Duration can hold the difference of any two
// times between them.
var (
	earliest = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2233, 1, 1, 0, 0, 0, 0, time.UTC)
)

// implausible names the field that is out of bounds. It is "" if all is well.
func (r *Record) implausible(id WorktreeID) string {
	if r.WorktreeID != id {
		return fmt.Sprintf("it is of worktree %.140q", string(r.WorktreeID))
	}
	for _, check := range []func(*Record) string{
		(*Record).oddNumbers, (*Record).oddTexts, (*Record).oddTimes, (*Record).oddExtra,
	} {
		if why := check(r); why != "" {
			return why
		}
	}
	return ""
}

func (r *Record) oddNumbers() string {
	const most = int64(MaxSpan / time.Millisecond)
	switch {
	case r.FencingToken == 0:
		return "its fencing_token is 0"
	case r.FencingToken > MostToken:
		return fmt.Sprintf("its fencing_token is %d, more than %d", r.FencingToken, MostToken)
	}
	for name, n := range map[string]uint64{"acquire_seq": r.AcquireSeq, "renew_count": r.RenewCount} {
		if n > uint64(MostToken) {
			return fmt.Sprintf("its %s is %d, more than %d", name, n, MostToken)
		}
	}
	for _, ms := range []int64{r.LeaseDurationMS, r.RenewIntervalMS, r.MaxClockSkewMS, r.StealGraceMS} {
		if ms < 0 || ms > most {
			return fmt.Sprintf("a duration is %d ms", ms)
		}
	}
	if h := ParseHolderID(r.HolderID); h.PID > mostPID {
		return fmt.Sprintf("its holder_id names process %d, more than %d", h.PID, mostPID)
	}
	return ""
}

func (r *Record) oddTexts() string {
	for _, f := range []struct {
		name, text string
		least      int
	}{{"holder_nonce", r.HolderNonce, 1}, {"lock_id", r.LockID, 0}, {"session_id", r.SessionID, 0}, {"scope", r.Scope, 0},
		{"host_boot_id", r.HostBootID, 0}, {"pid_namespace", r.PIDNamespace, 0},
		{"store_client", r.StoreClient, 0}} {
		switch {
		case f.text == "" && f.least > 0:
			return fmt.Sprintf("its %s is empty", f.name)
		case len(f.text) > mostName:
			return fmt.Sprintf("its %s has %d bytes, more than %d", f.name, len(f.text), mostName)
		case strings.IndexFunc(f.text, notGraphic) >= 0:
			return fmt.Sprintf("its %s has characters that none has", f.name)
		}
	}
	for _, f := range []struct{ name, text string }{{"holder_id", r.HolderID}, {"offered_to", r.OfferedTo},
		{"scope_key", r.ScopeKey}, {"purpose", r.Purpose}} {
		if len(f.text) > MaxText {
			return fmt.Sprintf("its %s has %d bytes, more than %d", f.name, len(f.text), MaxText)
		}
	}
	if strings.IndexFunc(r.HolderID+r.OfferedTo, unicode.IsControl) >= 0 {
		return "it names a host with control characters"
	}
	return ""
}

// notGraphic is whether an identifier must not have this character: it is not ASCII from ! to ~.
func notGraphic(c rune) bool { return c <= ' ' || c > '~' }

// PlainClient is what the store calls a client, or "" if a record cannot carry it.
func PlainClient(name string) string {
	if len(name) > mostName || strings.IndexFunc(name, notGraphic) >= 0 {
		return ""
	}
	return name
}

func (r *Record) oddTimes() string {
	for _, f := range []struct {
		name string
		at   time.Time
		none bool // it may be absent
	}{{"created_at", r.CreatedAt, false}, {"last_renewed_at", r.LastRenewedAt, false}, {"lease_expires_at", r.LeaseExpiresAt, false},
		{"offer_until", r.OfferUntil, true}} {
		switch {
		case f.at.IsZero() && f.none:
		case f.at.IsZero():
			return fmt.Sprintf("its %s is zero", f.name)
		case f.at.Before(earliest) || !f.at.Before(latest):
			return fmt.Sprintf("its %s is in the year %d", f.name, f.at.Year())
		}
	}
	if r.Released {
		return "" // it is over, whatever its host's clock said
	}
	if lasts := r.LeaseExpiresAt.Sub(r.LastRenewedAt); lasts < 0 || lasts > MaxSpan {
		return fmt.Sprintf("it expires %v after it was renewed", lasts)
	}
	return ""
}

func (r *Record) oddExtra() string {
	size := 0
	for name, raw := range r.extra {
		size += len(name) + len(raw)
		if nesting(raw) > mostNesting {
			return fmt.Sprintf("a field is nested more than %d deep", mostNesting)
		}
	}
	if size > mostExtra {
		return fmt.Sprintf("its further fields have %d bytes, more than %d", size, mostExtra)
	}
	return ""
}

// nesting is how deep the arrays and objects of a valid JSON text go.
func nesting(raw json.RawMessage) int {
	depth, most, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '[' || c == '{'):
			depth++
			most = max(most, depth)
		case !quoted && (c == ']' || c == '}'):
			depth--
		}
	}
	return most
}

// NextCount is the counter after n, which stays within its bound.
func NextCount(n uint64) uint64 { return min(n+1, uint64(MostToken)) }
