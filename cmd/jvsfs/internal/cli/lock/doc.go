// Package lock is jvsfs lock: acquire, renew, release, steal, status and handover, through the daemon of a mount or, without a mount, by
// the lease records. A steal asks first (steal_consent.go). The rules of leases are in lease and internal/lockop.
package lock
