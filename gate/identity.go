package gate

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"github.com/jvsfs/jvsfs/lease"
)

// Identity is a resolved process. A pid is not enough, because pids are reused: the start time goes
// with it.
type Identity struct {
	tid          int    // the thread that called, 0 if not visible
	PID          int    // its process
	Start        uint64 // of the process, clock ticks after boot
	PPID         int
	Session      int    // id of the POSIX session, see sessionOf
	SessionStart uint64 // of the session's leader, 0 if it has ended
	UID          uint32 // file system user id of the call
}

// errUnseen says that the caller has no pid in the daemon's pid namespace.
var errUnseen = errors.New("the process is in a pid namespace that is not visible here")

// identify reads the identity of a thread. uid is what the kernel said of the request.
func identify(tid int, uid uint32) (Identity, error) {
	id := Identity{tid: tid, UID: uid}
	if tid == 0 {
		return id, errUnseen
	}
	pid, err := readTgid(tid)
	if err != nil {
		return id, err
	}
	st, err := ReadStat(pid)
	if err != nil {
		return id, err
	}
	id.PID, id.Start, id.PPID = pid, st.Start, st.PPID
	id.Session, id.SessionStart = sessionOf(pid, st, ReadStat)
	return id, nil
}

// sessionOf returns the session of a process, and when its leader started (0 if the leader has
// ended).
//
// A session that was made outside of this pid namespace has the number 0 in it (nsenter, unshare
// -p, sandboxes that do not call setsid). There may be several such sessions. The topmost ancestor
// in the same session stands for the leader and tells them apart.
func sessionOf(pid int, st ProcStat, stat func(int) (ProcStat, error)) (session int, start uint64) {
	switch st.session {
	case 0:
		return unseenSession(pid, st, stat)
	case pid:
		return pid, st.Start
	}
	if leader, err := stat(st.session); err == nil && leader.session == st.session {
		start = leader.Start
	}
	return st.session, start
}

func unseenSession(pid int, st ProcStat, stat func(int) (ProcStat, error)) (top int, start uint64) {
	for range ancestorsMax {
		above, err := stat(st.PPID)
		if st.PPID == 0 || err != nil || above.session != 0 {
			break
		}
		pid, st = st.PPID, above
	}
	return pid, st.Start
}

// host returns what does not change while the machine is up.
var host = sync.OnceValue(func() (h struct{ name, bootID, pidNS string }) {
	h.name, _ = os.Hostname()
	if h.name == "" {
		h.name = "localhost"
	}
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	h.bootID = strings.TrimSpace(string(b))
	h.pidNS, _ = os.Readlink("/proc/self/ns/pid")
	return h
})

// HostName returns this machine's name, as holder ids have it.
func HostName() string { return host().name }

// userName returns the name of a user id, or the number if it has none.
func userName(uid uint32) string {
	n := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return n
}

// HolderFor makes the holder of a lease that is bound to a process. The lease is renewed while that
// process lives and is not stopped. HolderFor fails if there is no such process, or if everybody
// would be in the scope.
func (r *Resolver) HolderFor(pid int, scope Scope, purpose string) (lease.Holder, error) {
	uid, err := readUID(pid)
	if err != nil {
		return lease.Holder{}, err
	}
	id, err := identify(pid, uid)
	if err != nil {
		return lease.Holder{}, err
	}
	return r.holderOf(id, scope, purpose)
}

func (r *Resolver) holderOf(id Identity, scope Scope, purpose string) (lease.Holder, error) {
	if scope == ScopeDefault {
		scope = ScopeTree
	}
	h := lease.Holder{
		Host: host().name, User: userName(id.UID), UID: id.UID, PID: id.PID, StartTime: id.Start,
		BootID: host().bootID, PIDNamespace: host().pidNS, Scope: string(scope), Purpose: purpose,
	}
	switch scope {
	case ScopeSession:
		h.ScopeKey = sessionKey(id)
	case ScopeUser:
		h.ScopeKey = strconv.FormatUint(uint64(id.UID), 10)
	case ScopeCgroup:
		c, err := readCgroup(id.PID)
		if err != nil {
			return h, err
		}
		if c == "/" {
			return h, fmt.Errorf("process %d is in the root cgroup, which everybody is below: scope cgroup would fence nobody out", id.PID)
		}
		h.ScopeKey = c
	}
	return h, nil
}

// autoHolder returns the holder that a write takes the lease for. Under scope session the lease is
// bound to the session's leader, because it shall outlive the command that wrote first.
func (r *Resolver) autoHolder(id Identity, scope Scope) (lease.Holder, error) {
	if id.PID == 0 && scope != ScopeUser && scope != ScopeMount {
		return lease.Holder{}, errUnseen
	}
	h, err := r.holderOf(id, scope, "")
	h.Auto = true
	if (scope == ScopeSession || scope == ScopeTree) && id.SessionStart != 0 {
		h.PID, h.StartTime = id.Session, id.SessionStart
	}
	if scope == ScopeUser || scope == ScopeMount {
		h.PID, h.StartTime = 0, 0 // it belongs to no process; it ends when idle
	}
	return h, err
}

func sessionKey(id Identity) string {
	return strconv.Itoa(id.Session) + ":" + strconv.FormatUint(id.SessionStart, 10)
}

func parseSessionKey(key string) (sid int, start uint64, ok bool) {
	a, b, found := strings.Cut(key, ":")
	sid, err1 := strconv.Atoi(a)
	start, err2 := strconv.ParseUint(b, 10, 64)
	return sid, start, found && err1 == nil && err2 == nil
}
