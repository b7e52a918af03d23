package api

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

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
	fmt.Fprint(stderr, failureText(f, human.Columns(stderr)))
}

// FailureText is the failure in sentences: "jvsfs: CLASS: message (file; holder)", the processes in the way,
// and what to do next. It may contain file names that other users chose.
func FailureText(f *Failure) string { return failureText(f, 0) }

// failureText is FailureText for a terminal with so many columns, 0 for none.
func failureText(f *Failure, columns int) string {
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
	b.WriteString(BusyText(f.Busy, columns))
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

// leastOfCommand is how much of a process's command stays on the narrowest terminal.
const leastOfCommand = 20

// BusyText is a table of what processes do with a mount, for a terminal with so many columns, 0 for none. What a
// person copies from it is never cut: the paths, and the commands that end what the kernel itself keeps. The
// command of a process, which only says who it is, stands last and is cut at the edge of a terminal.
func BusyText(entries []BusyEntry, columns int) string {
	if len(entries) == 0 {
		return ""
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, []string{fmt.Sprint(e.PID), e.Use, human.Printable(e.Path), human.Printable(e.Command)})
	}
	text := human.Table([]string{"PID", "USE", "PATH", "COMMAND"}, rows)
	if columns == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	edge := max(columns, strings.Index(lines[0], "COMMAND")+leastOfCommand)
	for i, e := range entries {
		if e.PID != 0 {
			lines[i+1] = ansi.Truncate(lines[i+1], edge, "…")
		}
	}
	return strings.Join(lines, "\n")
}
