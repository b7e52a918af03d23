package cases

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// actor is a thread with credentials, umask and working directory of its own. Linux
// keeps them for each thread; only the C library and Go's syscall package spread
// them over a process, so they are set by raw calls here.
type actor struct{ calls chan func() }

// identity is "UID[:GID[,GROUP...]][+CAP...][-CAP...]", as scripts write it after @.
type identity struct {
	uid, gid  int
	groups    []uint32
	add, drop uint64
}

var capabilities = map[string]uint{
	"chown": unix.CAP_CHOWN, "dac_override": unix.CAP_DAC_OVERRIDE, "dac_read_search": unix.CAP_DAC_READ_SEARCH,
	"fowner": unix.CAP_FOWNER, "fsetid": unix.CAP_FSETID, "mknod": unix.CAP_MKNOD, "sys_admin": unix.CAP_SYS_ADMIN,
	"setfcap": unix.CAP_SETFCAP, "linux_immutable": unix.CAP_LINUX_IMMUTABLE, "sys_resource": unix.CAP_SYS_RESOURCE,
}

func parseIdentity(s string) (identity, error) {
	var id identity
	end := strings.IndexAny(s, "+-")
	if end < 0 {
		end = len(s)
	}
	for caps := s[end:]; caps != ""; {
		next := strings.IndexAny(caps[1:], "+-") + 1
		if next == 0 {
			next = len(caps)
		}
		n, known := capabilities[caps[1:next]]
		if !known {
			return id, fmt.Errorf("no capability %q", caps[1:next])
		}
		if caps[0] == '+' {
			id.add |= 1 << n
		} else {
			id.drop |= 1 << n
		}
		caps = caps[next:]
	}
	return id, id.parseIDs(s[:end])
}

func (id *identity) parseIDs(s string) (err error) {
	uid, gids, both := strings.Cut(s, ":")
	if id.uid, err = strconv.Atoi(uid); err != nil || !both {
		id.gid = id.uid
		return err
	}
	for i, g := range strings.Split(gids, ",") {
		n, err := strconv.Atoi(g)
		if err != nil {
			return err
		}
		if i == 0 {
			id.gid = n
		} else {
			id.groups = append(id.groups, uint32(n))
		}
	}
	return nil
}

// as runs f on the thread of an identity, in the trial's directory, with umask 0
// unless the actor has changed it.
func (t *Trial) as(who string, f func()) {
	a := t.actors[who]
	if a == nil {
		a = t.engage(who)
	}
	done := make(chan struct{})
	a.calls <- func() { defer close(done); f() }
	<-done
}

func (t *Trial) engage(who string) *actor {
	id, err := parseIdentity(who)
	if err != nil {
		panic(err)
	}
	a, ready := &actor{calls: make(chan func())}, make(chan error)
	go a.live(id, t.Dir, ready)
	if err := <-ready; err != nil {
		panic(fmt.Errorf("become %s: %w", who, err))
	}
	if t.actors == nil {
		t.actors = make(map[string]*actor)
	}
	t.actors[who] = a
	return a
}

// live never unlocks its thread, which therefore ends with the goroutine.
func (a *actor) live(id identity, dir string, ready chan<- error) {
	runtime.LockOSThread()
	debug.SetPanicOnFault(true) // a store past the end of a mapped file
	ready <- id.become(dir)
	for f := range a.calls {
		f()
	}
}

func (t *Trial) dismiss() {
	for _, a := range t.actors {
		close(a.calls)
	}
}

func (id identity) become(dir string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	unix.Umask(0)
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if id.uid == 0 && id.gid == 0 && id.groups == nil && id.drop == 0 {
		return nil
	}
	if err := id.setIDs(); err != nil {
		return err
	}
	return id.setCaps()
}

func (id identity) setIDs() error {
	var groups unsafe.Pointer
	if len(id.groups) > 0 {
		groups = unsafe.Pointer(&id.groups[0])
	}
	gid, uid := uintptr(id.gid), uintptr(id.uid)
	for _, call := range [][4]uintptr{
		{unix.SYS_SETGROUPS, uintptr(len(id.groups)), uintptr(groups), 0},
		{unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1, 0},
		{unix.SYS_SETRESGID, gid, gid, gid},
		{unix.SYS_SETRESUID, uid, uid, uid},
	} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	runtime.KeepAlive(id.groups)
	return nil
}

func (id identity) setCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for i := range data {
		keep := uint32(id.add >> (32 * i))
		if id.uid == 0 {
			keep = data[i].Permitted &^ uint32(id.drop>>(32*i))
		}
		data[i] = unix.CapUserData{Effective: keep, Permitted: keep}
	}
	return unix.Capset(&hdr, &data[0])
}
