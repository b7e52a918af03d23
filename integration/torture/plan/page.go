package plan

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The slots of a Page.
const (
	PageActive  = iota // 0: the points and the disk do nothing
	PageWall           // nanoseconds by which the wall clock is wrong
	PageBoot           // nanoseconds by which the boot clock is ahead
	PageErrno          // what the disk fails with
	PageFailing        // how many of a million calls fail
	PageWhat           // which calls: FailAll, FailAudit or FailSight
	pageSlots
)

// The values of PageWhat.
const (
	FailAll   = iota // every call on the lock directory and the audit log
	FailAudit        // those on the audit log
	FailSight        // those that open, list and look at the lock directory
)

// Page is memory that a host shares with its daemon.
type Page struct{ slots *[pageSlots]int64 }

// OpenPage maps the file at path, and makes it if absent.
func OpenPage(path string) (Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Page{}, err
	}
	defer f.Close() //nolint:errcheck // the mapping stays
	if err := f.Truncate(4096); err != nil {
		return Page{}, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return Page{}, fmt.Errorf("map %s: %w", path, err)
	}
	return Page{(*[pageSlots]int64)(unsafe.Pointer(&b[0]))}, nil
}

// Get reads a slot.
func (p Page) Get(slot int) int64 { return atomic.LoadInt64(&p.slots[slot]) }

// Set writes a slot.
func (p Page) Set(slot int, v int64) { atomic.StoreInt64(&p.slots[slot], v) }
