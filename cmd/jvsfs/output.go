package main

import (
	"fmt"
	"io"
	"strings"
)

// failureReport is what any command prints for programs when it fails; the names are a
// promise.
type failureReport struct {
	Error *failure `json:"error"`
}

// printFailure tells a failure: to people on stderr, to programs on stdout too.
func printFailure(stdout, stderr io.Writer, f *failure, asJSON bool) {
	if f.silent {
		return
	}
	if asJSON {
		if err := printJSON(stdout, failureReport{f}); err != nil {
			fmt.Fprintf(stderr, "jvsfs: %v\n", err)
		}
	}
	fmt.Fprint(stderr, failureText(f))
}

// failureText is the failure in sentences: "jvsfs: CLASS: message (file; holder)",
// the processes in the way, and what to do next. Names of files are in it that others
// have given.
func failureText(f *failure) string {
	var b strings.Builder
	b.WriteString("jvsfs: ")
	b.WriteString(printableLines(f.Error()))
	var where []string
	if f.File != "" {
		where = append(where, "file "+printable(f.File))
	}
	if f.Holder != nil {
		where = append(where, "holder "+holderText(f.Holder))
	}
	if len(where) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(where, "; "))
	}
	b.WriteByte('\n')
	b.WriteString(busyText(f.Busy))
	if f.Next != "" {
		fmt.Fprintf(&b, "next: %s\n", printableLines(f.Next))
	}
	return b.String()
}

// holderText names a holder in one phrase.
func holderText(h *holderView) string {
	s := printable(h.HolderID)
	if h.Scope != "" {
		s += ", scope " + printable(h.Scope)
	}
	if h.Purpose != "" {
		s += ", for " + printable(h.Purpose)
	}
	if h.ExpiresAt != nil {
		s += ", until " + clockText(*h.ExpiresAt)
	}
	return s
}

func busyText(entries []busyEntry) string {
	if len(entries) == 0 {
		return ""
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, []string{fmt.Sprint(e.PID), shorten(printable(e.Command), 60), e.Use, printable(e.Path)})
	}
	return table([]string{"PID", "COMMAND", "USE", "PATH"}, rows)
}
