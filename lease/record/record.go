package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Size is the size of a record on disk. It is padded, so a rewrite is one write in place and needs no new space.
const Size = 4096

// Record is a lock record (locking spec v6.3, lock record schema) with our additions. Not safe for concurrent change.
type Record struct {
	LockID          string     `json:"lock_id"`
	WorktreeID      WorktreeID `json:"worktree_id"`
	HolderID        string     `json:"holder_id"`
	HolderNonce     string     `json:"holder_nonce"` // a secret; never print it
	SessionID       string     `json:"session_id"`
	AcquireSeq      uint64     `json:"acquire_seq"`
	CreatedAt       time.Time  `json:"created_at"`
	LastRenewedAt   time.Time  `json:"last_renewed_at"`
	LeaseDurationMS int64      `json:"lease_duration_ms"`
	RenewIntervalMS int64      `json:"renew_interval_ms"`
	MaxClockSkewMS  int64      `json:"max_clock_skew_ms"`
	StealGraceMS    int64      `json:"steal_grace_ms"`
	LeaseExpiresAt  time.Time  `json:"lease_expires_at"`
	FencingToken    Token      `json:"fencing_token"`

	Released     bool   `json:"released"`
	Scope        string `json:"scope"`
	ScopeKey     string `json:"scope_key"`
	HostBootID   string `json:"host_boot_id"`
	PIDNamespace string `json:"pid_namespace"`
	Purpose      string `json:"purpose"`
	RenewCount   uint64 `json:"renew_count"`
	UID          uint32 `json:"uid"`
	Auto         bool   `json:"auto"`

	// HandedOver says that the holder before gave the lease away (rules 13 and 14), so this holder has robbed nobody.
	HandedOver bool `json:"handed_over,omitempty"`

	OfferedTo  string    `json:"offered_to,omitempty"` // the host that may take the lease (rule 14)
	OfferUntil time.Time `json:"offer_until,omitzero"` // until when it may

	// StoreClient is what the store calls the client through which the holder's host writes (rule 17).
	StoreClient string `json:"store_client,omitempty"`
	// Fence says that the holder's host has a fence agent configured: no other host takes the lease over unless that host was cut off
	// the store (rule 17).
	Fence bool `json:"fence,omitempty"`

	extra map[string]json.RawMessage // fields of other programs; a rewrite keeps them
}

// plainRecord is Record without its methods, for encoding/json.
type plainRecord Record

// requiredFields is how many of knownFields the spec demands. Our additions come after them and may be absent.
const requiredFields = 14

// knownFields are the JSON names in the order of the struct.
var knownFields = func() (names []string) {
	t := reflect.TypeFor[Record]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}()

// MarshalJSON writes the known fields, then the others, sorted.
func (r *Record) MarshalJSON() ([]byte, error) {
	b, err := plainJSON((*plainRecord)(r))
	if err != nil || len(r.extra) == 0 {
		return b, err
	}
	b = b[:len(b)-1]
	for _, name := range slices.Sorted(maps.Keys(r.extra)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), r.extra[name]...)
	}
	return append(b, '}'), nil
}

// plainJSON is json.Marshal, but writes <, > and & as they are: in the form \u003c a text within its bounds might not fit Size.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON keeps fields that it does not know. It matches names exactly; encoding/json alone ignores case.
func (r *Record) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	known := make(map[string]json.RawMessage, len(knownFields))
	for i, name := range knownFields {
		raw, ok := all[name]
		if missing := !ok || string(raw) == "null"; missing && i < requiredFields {
			return fmt.Errorf("field %s is missing", name)
		} else if !missing {
			known[name] = raw
		}
		delete(all, name)
	}
	only, err := json.Marshal(known)
	if err != nil {
		return err
	}
	var p plainRecord
	if err := json.Unmarshal(only, &p); err != nil {
		return err
	}
	if len(all) > 0 {
		p.extra = all
	}
	*r = Record(p)
	return nil
}

// Parse reads a record of worktree id. Any error means that nothing in it may be trusted.
func Parse(b []byte, id WorktreeID) (*Record, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil, fmt.Errorf("the record is empty")
	}
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("the record does not parse: %w", err)
	}
	if why := r.implausible(id); why != "" {
		return nil, fmt.Errorf("the record is implausible: %s", why)
	}
	return r, nil
}

// Encode is the padded form. It fails if the record does not fit. Fields of other programs are left out rather than that: a holder must
// not lose its lease by them.
func (r *Record) Encode() ([]byte, error) {
	b, err := plainJSON(r)
	if err == nil && len(b) >= Size && len(r.extra) > 0 {
		b, err = plainJSON((*plainRecord)(r))
	}
	if err != nil {
		return nil, err
	}
	if len(b) >= Size {
		return nil, fmt.Errorf("the record has %d bytes, more than %d", len(b), Size-1)
	}
	return []byte(string(b) + strings.Repeat(" ", Size-1-len(b)) + "\n"), nil
}

// Holder is the holder that the record names.
func (r *Record) Holder() Holder {
	h := ParseHolderID(r.HolderID)
	h.UID, h.BootID, h.PIDNamespace = r.UID, r.HostBootID, r.PIDNamespace
	h.SessionID, h.Scope, h.ScopeKey = r.SessionID, r.Scope, r.ScopeKey
	h.Purpose, h.Auto = r.Purpose, r.Auto
	return h
}

// Policy is the policy in the record.
func (r *Record) Policy() Policy {
	return Policy{
		LeaseDuration: time.Duration(r.LeaseDurationMS) * time.Millisecond,
		RenewInterval: time.Duration(r.RenewIntervalMS) * time.Millisecond,
		MaxClockSkew:  time.Duration(r.MaxClockSkewMS) * time.Millisecond,
		StealGrace:    time.Duration(r.StealGraceMS) * time.Millisecond,
	}
}

// ExpiresAt is when the lease ends, on the writer's wall clock.
func (r *Record) ExpiresAt() time.Time { return r.LeaseExpiresAt }

// StealableAt is the last moment at which the record's own policy protects the lease.
func (r *Record) StealableAt() time.Time {
	p := r.Policy()
	return r.LeaseExpiresAt.Add(p.MaxClockSkew + p.StealGrace)
}

// Clone is a copy of its own.
func (r *Record) Clone() *Record {
	c := *r
	c.extra = maps.Clone(r.extra)
	return &c
}
