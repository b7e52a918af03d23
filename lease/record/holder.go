package record

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Holder is who holds the lease, or wants to. A value.
type Holder struct {
	Host, User   string
	UID          uint32
	PID          int    // 0: no process is bound (scope mount)
	StartTime    uint64 // /proc/PID/stat field 22, clock ticks since boot
	BootID       string // /proc/sys/kernel/random/boot_id
	PIDNamespace string // readlink /proc/PID/ns/pid
	SessionID    string // "": the keeper makes one
	Scope        string // tree | session | user | cgroup | mount
	ScopeKey     string // session id, cgroup path, uid: opaque here
	Purpose      string
	Auto         bool // taken for the first writer, not on purpose
}

// MaxText bounds free text so that a record fits its fixed size.
const MaxText = 512

// ID is the spec's holder_id, host:user:pid:start_time.
func (h Holder) ID() string {
	return fmt.Sprintf("%s:%s:%d:%d", h.Host, h.User, h.PID, h.StartTime)
}

// Same is whether both are one holder. Host name, pid and user are not enough, for they repeat.
func (h Holder) Same(o Holder) bool {
	return h.BootID == o.BootID && h.PID == o.PID && h.StartTime == o.StartTime &&
		h.Scope == o.Scope && h.ScopeKey == o.ScopeKey
}

// TurnsInto says whether a lease that was taken by writing goes on as one on purpose: for the very process that it is bound to,
// whoever else then counts as the holder.
func (h Holder) TurnsInto(o Holder) bool {
	return h.Auto && !o.Auto && h.PID != 0 && h.BootID == o.BootID && h.PIDNamespace == o.PIDNamespace &&
		h.PID == o.PID && h.StartTime == o.StartTime && h.UID == o.UID
}

// ParseHolderID parses a holder_id from its right end, because a host name may hold colons. If it does not parse, all of it is the
// host: the text is for people.
func ParseHolderID(s string) (h Holder) {
	parts := strings.Split(s, ":")
	if n := len(parts); n >= 4 {
		pid, err1 := strconv.Atoi(parts[n-2])
		start, err2 := strconv.ParseUint(parts[n-1], 10, 64)
		if err1 == nil && err2 == nil && pid >= 0 {
			return Holder{Host: strings.Join(parts[:n-3], ":"), User: parts[n-3], PID: pid, StartTime: start}
		}
	}
	return Holder{Host: s}
}

// Named is a host name as records have it.
func Named(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, s)
}

// Clip shortens s to at most n bytes of valid UTF-8.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
