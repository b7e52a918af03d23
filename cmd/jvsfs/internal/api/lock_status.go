package api

import (
	"encoding/json"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// LockStatus is what `lock status --json` prints; the names are a promise.
type LockStatus struct {
	Worktree lease.WorktreeID `json:"worktree_id"`
	State    string           `json:"state"`
	Reason   string           `json:"reason,omitempty"`
	Token    lease.Token      `json:"fencing_token"`
	File     string           `json:"file,omitempty"`
	Member   *bool            `json:"member,omitempty"` // of the process named by --pid
	Record   json.RawMessage  `json:"record,omitempty"`
}

// LockStatusOf is the state of a lease, as user uid may see it.
func LockStatusOf(id lease.WorktreeID, head lease.Head, j lease.Judgement, uid uint32) (LockStatus, error) {
	st := LockStatus{Worktree: id, State: j.State.String(), Reason: j.Reason, Token: head.Token, File: head.File}
	var err error
	if head.Record != nil {
		st.Record, err = RecordJSON(head.Record, uid)
	}
	return st, err
}

// RecordJSON is a record as the reader may see it. Only the holder's user and root see the nonce.
func RecordJSON(r *record.Record, uid uint32) (json.RawMessage, error) {
	raw, err := json.Marshal(r)
	if err != nil || uid == 0 || uid == r.Holder().UID {
		return raw, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	delete(fields, "holder_nonce")
	return json.Marshal(fields)
}

// RecordOf reads the output of RecordJSON. It is nil if that cannot be read.
func RecordOf(raw json.RawMessage) *record.Record {
	var fields map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	if _, ok := fields["holder_nonce"]; !ok {
		fields["holder_nonce"] = "-" // hidden from this reader; a record must have one
	}
	full, err := json.Marshal(fields)
	rec := new(record.Record)
	if err != nil || json.Unmarshal(full, rec) != nil {
		return nil
	}
	return rec
}
