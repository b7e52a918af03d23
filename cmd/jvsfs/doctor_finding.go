package main

import (
	"fmt"
	"strings"
)

// The severities of a finding.
const (
	sevOK   = "ok"
	sevWarn = "warn"
	sevFail = "fail"
)

// finding is the result of one check; the JSON names and the ids are a promise.
type finding struct {
	ID       string `json:"id"`    // CHECK.WHAT, for programs
	Check    string `json:"check"` // the first part of the id
	Severity string `json:"severity"`
	Message  string `json:"message"`       // what is the matter
	Why      string `json:"why,omitempty"` // why it matters
	Fix      string `json:"fix,omitempty"` // how to mend it
}

func newFinding(id, severity, fix, format string, args []any) finding {
	check, _, _ := strings.Cut(id, ".")
	f := finding{ID: id, Check: check, Severity: severity, Message: fmt.Sprintf(format, args...), Fix: fix}
	if severity != sevOK {
		f.Why = whyItMatters[id]
	}
	return f
}

func okf(id, format string, args ...any) finding {
	return newFinding(id, sevOK, "", format, args)
}

func warn(id, fix, format string, args ...any) finding {
	return newFinding(id, sevWarn, fix, format, args)
}

func fail(id, fix, format string, args ...any) finding {
	return newFinding(id, sevFail, fix, format, args)
}

func failed(all []finding, strict bool) bool {
	for _, f := range all {
		if f.Severity == sevFail || strict && f.Severity == sevWarn {
			return true
		}
	}
	return false
}

func findingsText(all []finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-4s  %-24s %s\n", f.Severity, f.ID, printable(f.Message))
		if f.Why != "" {
			fmt.Fprintf(&b, "      why: %s\n", f.Why)
		}
		if f.Fix != "" {
			fmt.Fprintf(&b, "      fix: %s\n", printable(f.Fix))
		}
	}
	return b.String()
}
