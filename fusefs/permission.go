package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// Who may not write may not take. The kernel checks the permission for every mutation
// before it becomes a request (default_permissions), with one exception: a SETATTR that
// names no attribute, which is chown(path, -1, -1). Natively that is anybody's who can
// reach the path; it sets the time of change, and takes setuid and setgid bits away, and
// file capabilities: for those the kernel sends a REMOVEXATTR before, which it does not
// check either. A stranger must not take the lease with it, nor make the daemon work.

// touchFacts are what decides about a change that names no attribute.
type touchFacts struct {
	owner bool // or CAP_FOWNER
	write bool // mode, ACL and capabilities let the caller write
	fixed bool // nobody may change it
	setid bool // setuid or setgid bits would have to go
}

// judgeTouch says whether the caller may change the inode at all, so that a lease may be
// taken for it. If not, st is the answer without a change, which is what a file system
// without a fence answers.
func judgeTouch(t touchFacts) (may bool, st fuse.Status) {
	switch {
	case t.fixed:
		return false, fuse.EPERM
	case t.owner || t.write:
		return true, fuse.OK
	case t.setid:
		return false, fuse.EPERM
	}
	return false, fuse.OK
}

// touch is one such request; it is judged when somebody asks, and once.
type touch struct {
	n      *node
	h      *fuse.InHeader
	caps   bool // it takes the file's capabilities away
	judged bool
	mayIt  bool
	answer fuse.Status
}

func namesNothing(in *fuse.SetAttrIn) bool {
	const named = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID | fuse.FATTR_SIZE | fuse.FATTR_ATIME | fuse.FATTR_MTIME
	return in.Valid&named == 0
}

// capabilityAttr has the capabilities of a file. removexattr(2) of it is checked by the
// kernel; what it sends by itself is not.
const capabilityAttr = "security.capability"

func (t *touch) may() bool {
	if !t.judged {
		t.judged = true
		t.mayIt, t.answer = judgeTouch(t.facts())
	}
	return t.mayIt
}

// turnedAway reports whether somebody has asked, and the answer was no.
func (t *touch) turnedAway() bool { return t != nil && t.judged && !t.mayIt }

// facts of a caller or an inode that cannot be looked at are those of a stranger.
func (t *touch) facts() touchFacts {
	var st unix.Stat_t
	k, err := gate.CredentialsOf(callerID(t.h))
	if err != nil || unix.Fstat(t.n.fd, &st) != nil {
		return touchFacts{}
	}
	facts := touchFacts{
		fixed: !unflagged(t.n.fd, "", flagImmutable),
		owner: st.Uid == k.UID || k.Capable(unix.CAP_FOWNER, st.Uid, st.Gid),
		setid: !t.n.isDir() && (st.Mode&unix.S_ISUID != 0 || st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP),
	}
	if t.caps {
		facts.setid = false // the bits stay
		facts.fixed = !mayChange(gate.OpRemoveXAttr, t.n)()
		facts.owner = facts.owner || k.Capable(unix.CAP_SETFCAP, st.Uid, st.Gid)
	}
	if t.n.kind != unix.S_IFLNK { // anybody may write to a symbolic link, by its mode
		facts.write = k.Capable(unix.CAP_DAC_OVERRIDE, st.Uid, st.Gid) || MayAccess(k, t.n.fd, "", unix.W_OK) == nil
	}
	return facts
}
