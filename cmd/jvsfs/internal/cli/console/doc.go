// Package console is what each command has of the terminal and of its process: its streams, notes, questions, waits that are shown, and
// the signals that end it.
//
// It knows no mount and no lease. What is waited for is told by the caller (cli/lookup).
package console
