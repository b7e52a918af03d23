package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Who may not write may not take the lease. The kernel checks the permission for every mutation
// before it becomes a request (default_permissions). The exception is a SETATTR that names no
// attribute, which is chown(path, -1, -1). Natively anybody who can reach the path may call it. It
// sets the change time and removes setuid and setgid bits and file capabilities. For the
// capabilities the kernel sends a REMOVEXATTR before, which it does not check, either. A stranger
// must not take the lease with it, nor make the daemon work.

// touchFacts decide about a change that names no attribute.
type touchFacts struct {
	owner bool // or CAP_FOWNER
	write bool // mode, ACL and capabilities let the caller write
	fixed bool // nobody may change it
	setid bool // setuid or setgid bits would have to go
}

// judgeTouch says whether the caller may change the inode at all, so that a lease may be taken for
// it. If not, st is the answer of a file system without a fence when nothing is changed.
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

// touch is one such request. It is judged once, when somebody asks.
type touch struct {
	n      *node
	h      *fuse.InHeader
	caps   bool // it removes the file's capabilities
	judged bool
	mayIt  bool
	answer fuse.Status
}

func namesNothing(in *fuse.SetAttrIn) bool {
	const named = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID | fuse.FATTR_SIZE | fuse.FATTR_ATIME | fuse.FATTR_MTIME
	return in.Valid&named == 0
}

// capabilityAttr has the capabilities of a file. The kernel checks removexattr(2) of it, but not
// the REMOVEXATTR that it sends by itself.
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

// facts returns those of a stranger if the caller or the inode cannot be read.
func (t *touch) facts() touchFacts {
	var st unix.Stat_t
	k, err := process.CredentialsOf(callerID(t.h))
	if err != nil || unix.Fstat(t.n.fd, &st) != nil {
		return touchFacts{}
	}
	facts := touchFacts{
		fixed: !unflagged(t.n.fd, "", flagImmutable),
		owner: st.Uid == k.UID || k.Capable(unix.CAP_FOWNER, st.Uid, st.Gid),
		setid: !t.n.IsDir() && (st.Mode&unix.S_ISUID != 0 || st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP),
	}
	if t.caps {
		facts.setid = false // the bits stay
		facts.fixed = !mayChange(gate.OpRemoveXAttr, t.n)()
		facts.owner = facts.owner || k.Capable(unix.CAP_SETFCAP, st.Uid, st.Gid)
	}
	if t.n.kind != unix.S_IFLNK { // by its mode, anybody may write to a symbolic link
		facts.write = k.Capable(unix.CAP_DAC_OVERRIDE, st.Uid, st.Gid) || MayAccess(k, t.n.fd, "", unix.W_OK) == nil
	}
	return facts
}
