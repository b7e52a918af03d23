package lockop

import (
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Who says who may send a request. Root may do everything.
type Who int

// Those who may.
const (
	Anybody    Who = iota + 1 // the answer is not secret, and nothing changes
	Taker                     // the owner of the process that is to hold, if it may write there
	HolderOfIt                // the holder of the lease, and processes in its scope
	Giver                     // HolderOfIt, to somebody who may write there
	Quiescer                  // the holder and its user, who may write while nobody holds, and Mounter
	Mounter                   // who runs the daemon
	Root
)

// Plea has all facts that decide whether a caller may do what it asks. They come from the kernel and are
// collected elsewhere, so that the rule is a table.
type Plea struct {
	Who      Who
	Op       string // for the note
	PeerUID  uint32 // from SO_PEERCRED, or the caller's own without a daemon
	MountUID uint32 // who runs the daemon

	// acquire, steal, handover
	TargetUID uint32 // who owns the process that is to hold the lease
	MayWrite  bool   // the target's user may write to the worktree's root by its mode
	Wider     bool   // the requested scope is wider than the target's user, and than the configured one

	// renew, release, handover
	Held         bool
	HolderUID    uint32
	Explicit     bool // a process was named with --pid
	TargetMember bool // the named process is the holder or in its scope
	PeerMember   bool // the calling process is in the scope of the lease
}

// Authorize decides p. The string is a note for the caller's standard error. It is set if root does what
// otherwise only the holder may do. The failure has no holder and no file; the caller of Authorize knows them.
func Authorize(p Plea) (string, *api.Failure) {
	switch p.Who {
	case Anybody:
		return "", nil
	case Taker:
		return "", authorizeAcquire(p)
	case HolderOfIt:
		return authorizeHolder(p)
	case Giver:
		return authorizeHandover(p)
	case Quiescer:
		return "", authorizeQuiesce(p)
	case Mounter:
		if p.PeerUID != 0 && p.PeerUID != p.MountUID {
			return "", &api.Failure{Class: api.ClassDenied, Message: "only root or the user that mounted may do that", Next: "run it as root"}
		}
		return "", nil
	case Root:
		if p.PeerUID != 0 {
			return "", &api.Failure{Class: api.ClassDenied, Message: "only root may replace a daemon", Next: "run it as root"}
		}
		return "", nil
	}
	return "", &api.Failure{Class: api.ClassDenied, Message: "no rule says who may do that, so nobody may", Next: "report it"}
}

func authorizeAcquire(p Plea) *api.Failure {
	switch {
	case p.PeerUID == 0:
		return nil
	case p.PeerUID == p.TargetUID && !p.MayWrite:
		return &api.Failure{Class: api.ClassDenied, Message: fmt.Sprintf("user %d may not write to the worktree, so it may not keep others from it", p.TargetUID),
			Next: "ask the worktree's owner, or root"}
	case p.PeerUID == p.TargetUID && p.Wider:
		return &api.Failure{Class: api.ClassDenied, Message: "only root may take a lease for more than one user's processes",
			Next: "leave --scope out, or mount with that scope"}
	case p.PeerUID == p.TargetUID:
		return nil
	}
	return &api.Failure{
		Class:   api.ClassDenied,
		Message: fmt.Sprintf("the process belongs to user %d, and user %d may not take a lease for it", p.TargetUID, p.PeerUID),
		Next:    "name a process of your own with --pid, or ask root",
	}
}

func authorizeHolder(p Plea) (string, *api.Failure) {
	if !p.Held {
		return "", notHeld("nobody holds the lease", "jvsfs lock acquire WORKTREE")
	}
	if p.Explicit {
		if !p.TargetMember {
			return "", notHeld("the named process is neither the holder nor in its scope", "jvsfs lock status WORKTREE names the holder")
		}
		if p.PeerUID != 0 && p.PeerUID != p.HolderUID {
			return "", notHeld("the lease is held by another user", "ask the holder, or root")
		}
		return "", nil
	}
	if p.PeerUID == 0 {
		if p.PeerMember {
			return "", nil
		}
		return fmt.Sprintf("acting as root on a lease that this process does not hold (%s)", p.Op), nil
	}
	if p.PeerUID != p.HolderUID {
		return "", notHeld("the lease is held by another user", "ask the holder, or root")
	}
	if !p.PeerMember {
		return "", notHeld("the lease is held by another process of yours, and this one is not in its scope",
			"name the holder with --pid; jvsfs lock status WORKTREE shows it")
	}
	return "", nil
}

// authorizeHandover demands of the caller what a release demands, and of the next holder what an acquisition
// demands. The next holder's process may belong to another user.
func authorizeHandover(p Plea) (string, *api.Failure) {
	note, f := authorizeHolder(p)
	switch {
	case f != nil || p.PeerUID == 0:
		return note, f
	case !p.MayWrite:
		return "", &api.Failure{Class: api.ClassDenied, Message: fmt.Sprintf("user %d may not write to the worktree, so it cannot be given its lease", p.TargetUID),
			Next: "name a process that may write there"}
	case p.Wider:
		return "", &api.Failure{Class: api.ClassDenied, Message: "only root may give a lease to more than one user's processes",
			Next: "leave --scope out, or mount with that scope"}
	}
	return "", nil
}

// authorizeQuiesce lets nobody stop the writers of somebody else. The holder's user could stop them by a signal.
func authorizeQuiesce(p Plea) *api.Failure {
	switch {
	case p.PeerUID == 0, p.PeerUID == p.MountUID, p.PeerMember, p.Held && p.PeerUID == p.HolderUID, !p.Held && p.MayWrite:
		return nil
	case p.Held:
		return &api.Failure{Class: api.ClassDenied, Message: "the lease is held by another user, and you may not make its writers wait", Next: "ask the holder, or root"}
	}
	return &api.Failure{Class: api.ClassDenied, Message: fmt.Sprintf("user %d may not write to the worktree, so it may not make others wait", p.PeerUID),
		Next: "ask the worktree's owner, or root"}
}

func notHeld(message, next string) *api.Failure {
	return &api.Failure{Class: lease.ClassLockNotHeld, Message: message, Next: next}
}

// RefuseInit refuses to bind a lease to the first process with all its descendants. These are all processes
// of the machine, so everybody would be the holder, and nobody would be kept out.
func RefuseInit(pid int, scope gate.Scope) *api.Failure {
	if pid != 1 || scope != gate.ScopeTree && scope != gate.ScopeDefault {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: "process 1 is the ancestor of all processes here, so everybody would hold the lease",
		Next: "name the one that is to write: --pid $$ is this shell; or run it by jvsfs exec"}
}

// Identify resolves a process by its pid, with its own user.
func Identify(r *gate.Resolver, pid int) (process.Identity, error) {
	uid, err := process.OwnerOf(pid)
	if err != nil {
		return process.Identity{}, err
	}
	return r.Identify(process.Caller{TID: uint32(pid), UID: uid})
}
