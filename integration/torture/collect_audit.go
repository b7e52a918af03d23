package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// auditLine is what the harness looks at in the audit log.
type auditLine struct {
	Type     string `json:"event_type"`
	Worktree string `json:"worktree_name"`
	Prev     string `json:"prev_hash"`
	Hash     string `json:"record_hash"`
	Details  struct {
		Token uint64 `json:"fencing_token"`
	} `json:"details"`
}

const badChain = "audit chain broken"

// collectAudit reads which grants are steals by the audit log, and follows its chain: faults of its disk must not break it.
func (h *history) collectAudit() error {
	b, err := os.ReadFile(h.audit())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, t := range h.trees {
		t.Steals, t.Passed, t.WentOn = map[uint64]bool{}, map[uint64]bool{}, wentOn{}
	}
	h.roamedOn = wentOn{}
	prev := ""
	for i, text := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		var line auditLine
		if err := json.Unmarshal(text, &line); err != nil {
			continue // a daemon was killed in the middle of it: the next one goes on from the line before
		}
		if line.Prev != prev {
			h.bad = append(h.bad, finding{badChain, fmt.Sprintf("line %d of the audit log does not follow the one before: %.300q", i+1, text), -1})
		}
		prev = line.Hash
		if i := slices.Index(roamNames, line.Worktree); i >= 0 && h.Roams && line.Type == "lock_resume" {
			h.roamedOn[line.Details.Token+uint64(i)*roamBase] = true
		}
		switch t := h.treeOf(line.Worktree); {
		case t == nil:
		case line.Type == "lock_steal":
			t.Steals[line.Details.Token] = true
		case line.Type == "lock_handover":
			t.Passed[line.Details.Token] = true
		case line.Type == "lock_resume":
			t.WentOn[line.Details.Token] = true
		}
	}
	return nil
}
