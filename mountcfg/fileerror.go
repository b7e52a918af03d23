package mountcfg

import (
	"fmt"
	"strings"
)

// FileError is a mistake in a configuration file, shown with its line and a caret.
type FileError struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in characters
	Message string
	Text    string // the line itself
}

// Error is "FILE:LINE:COLUMN: MESSAGE", then the line and a caret below it.
func (e *FileError) Error() string {
	head := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	if e.Text == "" {
		return head
	}
	margin := fmt.Sprintf("%5d | ", e.Line)
	return head + "\n" + margin + e.Text + "\n" + strings.Repeat(" ", len(margin)+e.Column-1) + "^"
}

// newFileError keeps the caret within the line: if something is missing at the end of the file, the
// parser reports a place behind it.
func newFileError(file string, lines []string, line, column int, message string) *FileError {
	e := &FileError{File: file, Line: max(line, 1), Column: max(column, 1), Message: message}
	if e.Line > len(lines) {
		return e
	}
	e.Text = printable(lines[e.Line-1])
	e.Column = min(e.Column, len([]rune(e.Text))+1)
	return e
}

// printable makes each column one character, and removes control characters.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r == 0x7f:
			return '?'
		}
		return r
	}, strings.TrimSuffix(line, "\r"))
}
