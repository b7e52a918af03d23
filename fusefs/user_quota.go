package fusefs

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// userQuotas count the descriptors of the mount by user: of what the user has open, and of inodes that the user was the first to look at
// and that the kernel remembers. A user may have half, and an eighth is kept for those who hold a lease. So nobody can stop them by opening
// files. Safe for concurrent use.
type userQuotas struct{ of sync.Map } // uid -> *userQuota

// userQuota is what one user has.
type userQuota struct {
	uid    uint32
	inodes atomic.Int64
	open   atomic.Int64 // descriptors of handles
}

func (s *userQuota) all() int64 { return s.inodes.Load() + s.open.Load() }

func (s *userQuotas) by(uid uint32) *userQuota {
	if v, ok := s.of.Load(uid); ok {
		return v.(*userQuota)
	}
	v, _ := s.of.LoadOrStore(uid, &userQuota{uid: uid})
	return v.(*userQuota)
}

// User says how many of the mount's descriptors a user has. The JSON names are stable.
type User struct {
	UID         uint32 `json:"uid"`
	Descriptors int64  `json:"descriptors"`
	Open        int64  `json:"open"` // of open files and directories
}

// usersMax is how many users Stats lists.
const usersMax = 8

// top returns the users with the most descriptors.
func (s *userQuotas) top() (users []User) {
	s.of.Range(func(_, v any) bool {
		if one := v.(*userQuota); one.all() > 0 {
			users = append(users, User{one.uid, one.all(), one.open.Load()})
		}
		return true
	})
	slices.SortFunc(users, func(a, b User) int {
		return cmp.Or(cmp.Compare(b.Descriptors, a.Descriptors), cmp.Compare(a.UID, b.UID))
	})
	return users[:min(len(users), usersMax)]
}

// leaseIsOf reports whether the caller of a request holds a lease here.
func (f *rawFS) leaseIsOf(h *fuse.InHeader) (yes bool) {
	f.guards.Range(func(_, g any) bool {
		yes = g.(*gate.Guard).Holds(callerID(h))
		return !yes
	})
	return yes
}

// reading is one descriptor for all handles of one user that have a file open for reading. Each request has its own offset.
type reading struct {
	fd   int
	uses int // guarded by the node's mu
}

// openToRead joins a user's descriptor of an inode, or opens one.
func (f *rawFS) openToRead(n *node, h *fuse.InHeader, flags int) (*reading, error) {
	if r := n.readAlong(h.Uid); r != nil {
		return r, nil
	}
	if !f.room(h) {
		return nil, unix.ENFILE
	}
	fd, err := f.source.Reopen(n.fd, flags)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	if r := n.reads[h.Uid]; r != nil { // another request was faster
		r.uses++
		n.mu.Unlock()
		_ = unix.Close(fd)
		return r, nil
	}
	defer n.mu.Unlock()
	if n.reads == nil {
		n.reads = make(map[uint32]*reading)
	}
	r := &reading{fd: fd, uses: 1}
	n.reads[h.Uid] = r
	f.handles.fds.Add(1)
	f.quotas.by(h.Uid).open.Add(1)
	return r, nil
}

func (n *node) readAlong(uid uint32) *reading {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.reads[uid]
	if r != nil {
		r.uses++
	}
	return r
}

// readNoMore ends the use by one handle. It returns true for the last one.
func (n *node) readNoMore(uid uint32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.reads[uid]
	if r.uses--; r.uses > 0 {
		return false
	}
	delete(n.reads, uid)
	return true
}
