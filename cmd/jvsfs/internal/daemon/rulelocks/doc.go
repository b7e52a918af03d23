// Package rulelocks is what a mount knows and does of the lock files of other programs, by its rules: it opens the book of their tenures,
// audits what happens to them, breaks a lock or opens a maintenance window for who may, and explains what the rules say of a path. The book
// itself (gate/tenure) decides; what a daemon that is replaced does with it is the daemon's.
package rulelocks
