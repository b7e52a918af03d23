package api

import (
	"fmt"
	"io"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// failureReport is what a failed command prints for programs; the names are a promise.
type failureReport struct {
	Error *Failure `json:"error"`
}

// ReportOf is a failure as programs get it.
func ReportOf(f *Failure) any { return failureReport{f} }

// PrintFailure prints a failure: for people on stderr, for programs also on stdout.
func PrintFailure(stdout, stderr io.Writer, f *Failure, asJSON bool) {
	if f.silent {
		return
	}
	if asJSON {
		if err := human.PrintJSON(stdout, failureReport{f}); err != nil {
			fmt.Fprintf(stderr, "jvsfs: %v\n", err)
		}
	}
	fmt.Fprint(stderr, FailureText(f))
}

// FailureText is the failure in sentences: "jvsfs: CLASS: message (file; holder)", the processes in the way,
// and what to do next. It may contain file names that other users chose.
func FailureText(f *Failure) string {
	var b strings.Builder
	b.WriteString("jvsfs: ")
	b.WriteString(human.PrintableLines(f.Error()))
	var where []string
	if f.File != "" {
		where = append(where, "file "+human.Printable(f.File))
	}
	if f.Holder != nil {
		where = append(where, "holder "+HolderText(f.Holder))
	}
	if len(where) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(where, "; "))
	}
	b.WriteByte('\n')
	b.WriteString(BusyText(f.Busy))
	if f.Next != "" {
		fmt.Fprintf(&b, "next: %s\n", human.PrintableLines(f.Next))
	}
	return b.String()
}

// HolderText names a holder in one phrase.
func HolderText(h *holderView) string {
	s := human.Printable(h.HolderID)
	if h.Scope != "" {
		s += ", scope " + human.Printable(h.Scope)
	}
	if h.Purpose != "" {
		s += ", for " + human.Printable(h.Purpose)
	}
	if h.ExpiresAt != nil {
		s += ", until " + human.Clock(*h.ExpiresAt)
	}
	return s
}

// BusyText is a table of what processes do with a mount.
func BusyText(entries []BusyEntry) string {
	if len(entries) == 0 {
		return ""
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, []string{fmt.Sprint(e.PID), human.Shorten(human.Printable(e.Command), 60), e.Use, human.Printable(e.Path)})
	}
	return human.Table([]string{"PID", "COMMAND", "USE", "PATH"}, rows)
}
