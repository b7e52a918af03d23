package main

import (
	"fmt"
	"slices"
	"strings"
)

// The operations of a history other than writing, taking, giving back and injected faults.
const (
	opHandover = "handover" // to another writer of the same host
	opOffer    = "offer"    // to another host
	opSwitch   = "switch"   // of the mode of a mount: observe, enforce, readonly
	opRecover  = "recover"  // a killed daemon's mount is recovered instead of mounted anew
	opReplace  = "replace"  // a daemon takes the place of one that serves
	opRename   = "rename"   // of a worktree's root
	opMounts   = "mounts"   // a second mount of the source on the same host
	opStranger = "stranger" // users without permission
	opHostile  = "hostile"  // records that no daemon has written
)

var operations = []string{opHandover, opOffer, opSwitch, opRecover, opReplace, opRename, opMounts, opStranger, opHostile}

// repertoire is which operations are left out.
type repertoire []string

// has is whether the operation is to be done.
func (r repertoire) has(op string) bool { return !slices.Contains(r, op) }

func (o *options) leaveOut(list string) error {
	for op := range strings.SplitSeq(list, ",") {
		if !slices.Contains(operations, op) {
			return fmt.Errorf("no such operation: %s", op)
		}
		o.without = append(o.without, op)
	}
	return nil
}

// withoutNow leaves everything out where there is to be no enemy.
func (c hostConfig) withoutNow() repertoire {
	if c.NoFaults {
		return operations
	}
	return c.Without
}

func (c hostConfig) does(op string) bool { return c.withoutNow().has(op) }

// nameOf is the host name of a host.
func nameOf(number int) string { return fmt.Sprintf("torture-%d", number) }
