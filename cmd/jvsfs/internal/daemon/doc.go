// Package daemon serves one mount: it makes the file system, keeps the leases, answers what is asked of them (operations.go), writes the audit
// chain, and hands over to the daemon that comes after it (handle_retire.go, replace.go, appear.go). What it does not need the leases for is in
// the packages below it: none of them knows the daemon, and each says by an interface of its own what it asks for.
package daemon
