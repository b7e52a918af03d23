// Package daemon serves one mount: it makes the file system, keeps the leases, answers what is asked of them (operations.go), and writes
// the audit chain. What it does not need the leases for is in the packages below it: none of them knows the daemon, and each says by an
// interface of its own what it asks for.
package daemon
