//go:build !jvsfs_torture

package lease

import (
	"golang.org/x/sys/unix"
)

// The torture test (integration/torture) builds the package with torture_on.go in the place of this file: there the same
// functions pause, kill, fail, and break rules on purpose. Here they are nothing.

func pausePoint(string) {}

func disk(_ string, call func() error) error { return retry(call) }

func look(call func() error) error { return retry(call) }

func opening(_ int, call func() error) error { return retry(call) }

func listing(call func() error) error { return call() }

func flock(fd, how int) error { return unix.Flock(fd, how) }

func clockOf(c Clock) Clock { return c }

func tierUnder(t tier) tier { return t }

func claiming(*Record) {}

func claimed(*Record) {}

func literalLink(*claim) bool { return false }

func blind() bool { return false }

func unaudited() bool { return false }

func literalRenew(*Keeper, *holding, instant) bool { return false }
