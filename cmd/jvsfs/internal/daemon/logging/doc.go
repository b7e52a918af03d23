// Package logging makes the log of a daemon: its file, its lines for people or for programs, and a bound on lines that are alike, with a
// count of those that were left out. It does not say what is logged.
package logging
