package main

import (
	"encoding/json"
	"fmt"

	"github.com/jvsfs/jvsfs/gate"
)

// enforceAnswer is what `enforce --json` prints; the names are a promise.
type enforceAnswer struct {
	Mountpoint string `json:"mountpoint"`
	enforceStatus
	Previous gate.Enforce `json:"enforce_previous,omitempty"` // of a switch
}

func (a enforceAnswer) text() string {
	switch a.Previous {
	case "":
		return fmt.Sprintf("%s: %s\n", a.Mountpoint, a.modeText())
	case a.Enforce:
		return fmt.Sprintf("%s: %s already\n", a.Mountpoint, a.Enforce)
	}
	text := fmt.Sprintf("%s: %s, was %s", a.Mountpoint, a.Enforce, a.Previous)
	if a.Configured != a.Enforce {
		text += fmt.Sprintf("; a restart goes back to %s, which is configured", a.Configured)
	}
	return text + "\n"
}

// handoverResult is what `lock handover --json` prints; the names are a promise.
type handoverResult struct {
	From   *holderView     `json:"from"`
	Record json.RawMessage `json:"record"` // of the new holder
}

// unmounted is the daemon's answer to an unmount.
type unmounted struct {
	CopyOf string `json:"copy_of,omitempty"` // nothing was done: the mount was made at that place
}

// explanation is what `explain --json` prints; the names are a promise.
type explanation struct {
	gate.Explanation
	Mounted    bool   `json:"mounted"`
	Mountpoint string `json:"mountpoint,omitempty"`
}

func resultOf(v any) (response, error) {
	raw, err := json.Marshal(v)
	return response{Result: raw}, err
}
