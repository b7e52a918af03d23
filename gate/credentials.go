package gate

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// What a request does not say of its caller is read from /proc; the caller is
// blocked in its system call meanwhile. A caller that is not seen here (TID 0) has
// nothing.

// InGroup reports whether a group is one of the caller's supplementary groups.
func InGroup(c Caller, gid uint32) bool {
	groups, err := statusField(c, "Groups:")
	return err == nil && slices.Contains(strings.Fields(groups), strconv.FormatUint(uint64(gid), 10))
}

// HasCapability reports whether a capability is effective for the caller, in the
// daemon's own user namespace: one that counts in another namespace only is none here.
func HasCapability(c Caller, capability int) bool {
	text, err := statusField(c, "CapEff:")
	if err != nil {
		return false
	}
	caps, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	return err == nil && caps&(1<<capability) != 0 && sameUserNamespace(c)
}

func sameUserNamespace(c Caller) bool {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return false
	}
	theirs, err := os.Readlink("/proc/" + strconv.FormatUint(uint64(c.TID), 10) + "/ns/user")
	return err == nil && own == theirs
}

func statusField(c Caller, field string) (string, error) {
	if c.TID == 0 {
		return "", errUnseen
	}
	b, err := readProc(int(c.TID), "status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("/proc/%d/status has no %s", c.TID, field)
}
