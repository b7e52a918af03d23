package process

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
)

// host returns what does not change while the machine is up.
var host = sync.OnceValue(func() (h struct{ name, bootID, pidNS string }) {
	h.name, _ = os.Hostname()
	if h.name == "" {
		h.name = "localhost"
	}
	h.bootID, _ = ReadBootID()
	h.pidNS = PIDNamespaceOf("self")
	return h
})

// HostName returns this machine's name, as holder ids have it.
func HostName() string { return host().name }

// BootID tells this boot of the machine from others.
func BootID() string { return host().bootID }

// PIDNamespace is the pid namespace of this process.
func PIDNamespace() string { return host().pidNS }

// ReadBootID is BootID, and says why it cannot be read.
func ReadBootID() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw)), err
}

// PIDNamespaceOf is the pid namespace of a process, which may be "self". It is "" when it cannot be seen.
func PIDNamespaceOf(process string) string {
	ns, err := os.Readlink("/proc/" + process + "/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}

// UserName returns the name of a user id, or the number if it has none.
func UserName(uid uint32) string {
	n := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return n
}
