package finding

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// The severities of a finding.
const (
	SevOK   = "ok"
	SevWarn = "warn"
	SevFail = "fail"
)

// Finding is the result of one check; the JSON names and the ids are a promise.
type Finding struct {
	ID       string `json:"id"`    // CHECK.WHAT, for programs
	Check    string `json:"check"` // the first part of the id
	Severity string `json:"severity"`
	Message  string `json:"message"`       // what is wrong
	Why      string `json:"why,omitempty"` // why it matters
	Fix      string `json:"fix,omitempty"` // how to repair it
}

func newFinding(id, severity, fix, format string, args []any) Finding {
	check, _, _ := strings.Cut(id, ".")
	f := Finding{ID: id, Check: check, Severity: severity, Message: fmt.Sprintf(format, args...), Fix: fix}
	if severity != SevOK {
		f.Why = WhyItMatters[id]
	}
	return f
}

// OK says that the check found nothing wrong.
func OK(id, format string, args ...any) Finding {
	return newFinding(id, SevOK, "", format, args)
}

// Warn reports a possible problem. id is CHECK.WHAT; fix says how to repair it.
func Warn(id, fix, format string, args ...any) Finding {
	return newFinding(id, SevWarn, fix, format, args)
}

// Fail reports an error. id is CHECK.WHAT; fix says how to repair it.
func Fail(id, fix, format string, args ...any) Finding {
	return newFinding(id, SevFail, fix, format, args)
}

// Failed reports whether a check failed. With strict a warning counts, too.
func Failed(all []Finding, strict bool) bool {
	for _, f := range all {
		if f.Severity == SevFail || strict && f.Severity == SevWarn {
			return true
		}
	}
	return false
}

// Text is the findings for people.
func Text(all []Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-4s  %-24s %s\n", f.Severity, f.ID, human.Printable(f.Message))
		if f.Why != "" {
			fmt.Fprintf(&b, "      why: %s\n", f.Why)
		}
		if f.Fix != "" {
			fmt.Fprintf(&b, "      fix: %s\n", human.Printable(f.Fix))
		}
	}
	return b.String()
}
