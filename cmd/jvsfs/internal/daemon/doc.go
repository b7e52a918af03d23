// Package daemon serves one mount: it makes the file system, keeps the leases, answers on the
// control socket (operations.go), counts (metrics_*.go), remembers refusals (refusal_*.go), writes
// the audit chain, and hands over to the daemon that comes after it (handle_retire.go,
// replace.go, appear.go).
package daemon
