package api

import (
	"encoding/json"
	"fmt"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// EnforceAnswer is what `enforce --json` prints; the names are a promise.
type EnforceAnswer struct {
	Mountpoint string `json:"mountpoint"`
	EnforceStatus
	Previous gate.Enforce `json:"enforce_previous,omitempty"` // of a switch
}

// Text is the mode for people, with the former one after a switch.
func (a EnforceAnswer) Text() string {
	switch a.Previous {
	case "":
		return fmt.Sprintf("%s: %s\n", a.Mountpoint, a.ModeText())
	case a.Enforce:
		return fmt.Sprintf("%s: %s already\n", a.Mountpoint, a.Enforce)
	}
	text := fmt.Sprintf("%s: %s, was %s", a.Mountpoint, a.Enforce, a.Previous)
	if a.Configured != a.Enforce {
		text += fmt.Sprintf("; a restart goes back to %s, which is configured", a.Configured)
	}
	return text + "\n"
}

// HandoverResult is what `lock handover --json` prints; the names are a promise.
type HandoverResult struct {
	From   *holderView     `json:"from"`
	Record json.RawMessage `json:"record"` // of the new holder
}

// MetricsText is the daemon's answer to a request for its metrics.
type MetricsText struct {
	Text string `json:"text"` // in Prometheus' text format
}

// Unmounted is the daemon's answer to an unmount.
type Unmounted struct {
	CopyOf string `json:"copy_of,omitempty"` // nothing was done: it is a copy of the mount at that place
}

// Left is the daemon's answer to a run that has ended.
type Left struct {
	Stays string `json:"stays,omitempty"` // why the mount is still there, "": it is not
	Kept  bool   `json:"kept,omitempty"`  // it was not made for runs
	Runs  bool   `json:"runs,omitempty"`  // another run uses it
}

// Leased says where the worktree is of which a lease was taken, or is watched: below the root
// of the mount.
type Leased struct {
	Root string `json:"root"`
}

// Kept is the answer to a release that has released nothing: jvsfs exec keeps the lease for a
// command, to which who asked belongs.
type Kept struct {
	Holder int `json:"kept_for"` // the command's process
}

// Explanation is what `explain --json` prints; the names are a promise.
type Explanation struct {
	gate.Explanation
	Mounted    bool   `json:"mounted"`
	Mountpoint string `json:"mountpoint,omitempty"`
	ByRules
	ByPermission
}

// ByPermission is what the file system says of a path that is explained; the names are a promise.
type ByPermission struct {
	// NotPermitted is what the process may not write to, or walk through, whoever holds the lease: a path below the mount. Allowed
	// does not depend on it: a file of others can be replaced.
	NotPermitted string `json:"not_permitted,omitempty"`
}

// ByRules is what the rules say of a path that is explained; the names are a promise.
type ByRules struct {
	Part  string        `json:"part,omitempty"`  // the instance whose directory it lies in, of a rule with taken_by: lease
	Rules []tenure.View `json:"rules,omitempty"` // the locks that guard it, or that it is
	Fixed []string      `json:"fixed,omitempty"` // "once of RULE", and so on
}

// ResultOf is the answer that has v as its result.
func ResultOf(v any) (Response, error) {
	raw, err := json.Marshal(v)
	return Response{Result: raw}, err
}
