package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Repository is a git repository below a source, as somebody has read it. A Repository is a value
// and never changes.
type Repository struct {
	Common string     // path of the common directory below the source; "" is the source itself
	Main   string     // path of the main checkout below the source, if that is not the source itself
	Around bool       // the source is no checkout
	Linked []Checkout // the linked worktrees below the source
}

// Checkout is a linked worktree of git.
type Checkout struct {
	ID   lease.WorktreeID // of its lease
	Name string           // its directory in worktrees/ of the common directory
	Root string           // path below the source
}

// The names in a common directory and in a checkout that have rules (gitrepository-layout(5)).
const (
	gitName       = ".git"
	adminsName    = "worktrees"
	refsName      = "refs"
	headsName     = "heads"
	logsName      = "logs"
	objectsName   = "objects"
	headLockName  = "HEAD.lock"
	gcLogName     = "gc.log"
	lockSuffix    = ".lock"
	packedName    = "packed-refs"
	packedNew     = "packed-refs.new"
	claudeName    = ".claude"
	placesName    = ".worktrees"
	encodedPrefix = "x."
	hexDigits     = "0123456789abcdef"
	maxPlainGitID = 100
)

// everybodys are the names in a common directory that belong to no checkout: git keeps their
// writers apart by a lock file each, or never changes what is there.
var everybodys = []string{
	"annex", "common", gcLogName, "gc.pid", "lfs", "lost-found", "reftable", "rr-cache", "shallow", "svn",
}

// lockedFiles belong to everybody who replaces them by way of their lock file ([Replaces]). Whoever
// writes them in place, or removes them, needs the lease of the main checkout.
var lockedFiles = []string{"config", packedName}

// perWorktreeRefs are below refs and logs/refs, and belong to one checkout (gitrepository-layout(5)).
var perWorktreeRefs = []string{"bisect", "rewritten", "worktree"}

func (l Layout) gitRoot() Entry {
	switch {
	case l.git.Common == "": // worktrees lie in the bare repository itself
		return Entry{Own: guarded(l.tree), Role: gitCommon}
	case l.git.Around:
		return Entry{Own: Open, Role: gitAround}
	}
	return Entry{Own: guarded(l.tree), Role: gitMain}
}

func (l Layout) gitEntry(dir Role, name string) Entry {
	switch dir {
	case gitMain:
		return l.inMainCheckout(name)
	case gitAround:
		return l.inAround(name)
	case gitLinked:
		return inCheckout(name)
	case gitClaude:
		return inClaude(name)
	case gitPlaces:
		return inPlaces()
	case gitCommon:
		return l.inCommon(name)
	case gitInfo:
		return inInfo(name)
	case gitAdmins:
		return l.inAdmins(name)
	case gitAdmin:
		return inAdmin(name)
	case gitAdminLogs:
		return inAdminLogs(name)
	case gitRefs, gitLogRefs:
		return l.inRefs(name)
	case gitLogs:
		return inLogs(name)
	}
	return Entry{}
}

// LinkedRoot is what the root of a linked checkout is, wherever it lies.
func LinkedRoot(id lease.WorktreeID) Entry {
	r := guarded(id)
	return Entry{Change: r, Own: r, Role: gitLinked}
}

// Linked reports whether it is the root of a linked checkout.
func (e Entry) Linked() bool { return e.Role == gitLinked }

// IsAdmin reports whether a directory of that role is the administration of a linked checkout.
func (r Role) IsAdmin() bool { return r == gitAdmin }

// IsPlace reports whether anybody may make checkouts in a directory of that role.
func (r Role) IsPlace() bool { return r == gitPlaces }

// NamesCheckouts reports whether a change of a name in a directory of that role may make a checkout, or
// end one.
func (r Role) NamesCheckouts() bool { return r == gitAdmins }

// InRepository reports whether a directory of that role has a part of the common directory in it.
func (r Role) InRepository() bool { return strings.HasPrefix(string(r), string(gitCommon)) }

// inCheckout: agents make their worktrees in places of their own, also while somebody else holds the
// checkout that those lie in.
func inCheckout(name string) Entry {
	switch name {
	case claudeName:
		return Entry{Role: gitClaude, Mkdir: true}
	case placesName:
		return Entry{Role: gitPlaces, Mkdir: true}
	}
	return Entry{}
}

func (l Layout) inMainCheckout(name string) Entry {
	if l.common(name) {
		return l.commonDir()
	}
	return inCheckout(name)
}

// common reports whether a name in the source, or in the main checkout, is that of the common directory.
func (l Layout) common(name string) bool {
	return strings.TrimPrefix(strings.TrimPrefix(l.git.Common, l.git.Main), "/") == name
}

func (l Layout) commonDir() Entry {
	r := guarded(l.tree)
	return Entry{Change: r, Own: r, Role: gitCommon}
}

// inAround is the root of a source that is no checkout.
func (l Layout) inAround(name string) Entry {
	if name == gitName && l.git.Main == "" { // a file that leads to the bare repository
		r := guarded(l.tree)
		return Entry{Change: r, Own: r}
	}
	return Entry{}
}

// Roots are what has no fixed name below the source, by path: the main checkout or the bare repository
// of a source that is neither, and the linked checkouts. What lies there keeps its rule wherever it
// moves.
func (l Layout) Roots() map[string]Entry {
	roots := make(map[string]Entry)
	if l.git == nil {
		return roots
	}
	switch r := guarded(l.tree); {
	case l.git.Main != "":
		roots[l.git.Main] = Entry{Change: r, Own: r, Role: gitMain}
	case l.git.Around && l.git.Common != "":
		roots[l.git.Common] = l.commonDir()
	}
	for _, c := range l.git.Linked {
		roots[c.Root] = LinkedRoot(c.ID)
	}
	return roots
}

func inClaude(name string) Entry {
	if name == adminsName {
		return Entry{Role: gitPlaces, Mkdir: true}
	}
	return Entry{}
}

// inPlaces: git makes the directory of a worktree, and then says where it is. From then on it is the
// worktree's. Until then it belongs to the checkout that it lies in.
func inPlaces() Entry { return Entry{Mkdir: true} }

func (l Layout) inCommon(name string) Entry {
	switch plain := strings.TrimSuffix(name, lockSuffix); {
	case name == objectsName:
		return Entry{Change: Common, Own: Objects}
	case name == refsName:
		return Entry{Change: Common, Own: Common, Role: gitRefs}
	case name == logsName:
		return Entry{Change: Common, Role: gitLogs}
	case name == adminsName:
		return Entry{Change: Common, Role: gitAdmins}
	case name == "info":
		return Entry{Role: gitInfo}
	case name == headLockName:
		return headLock
	case slices.Contains(everybodys, plain), strings.HasPrefix(name, "shallow_"), name == packedNew,
		plain != name && slices.Contains(lockedFiles, plain):
		return Entry{Change: Common, Own: Common}
	case name == packedName:
		return Entry{Own: Objects} // git never changes it in place
	}
	return Entry{}
}

// headLock: git reflog expire, which git gc calls, locks the HEAD of every checkout, and writes nothing
// into that lock. What moves a HEAD writes into it, and needs the checkout's lease.
var headLock = Entry{Change: Common}

// Replaces reports whether a rename puts what was written into a lock file in the place of what that
// locks, and anybody may do so. Both paths are below the common directory.
func Replaces(from, to string) bool {
	return slices.Contains(lockedFiles, to) && (from == to+lockSuffix || from == packedNew && to == packedName)
}

// inInfo: git update-server-info, which git repack calls, writes info/refs.
func inInfo(name string) Entry {
	if strings.HasPrefix(name, refsName) {
		return Entry{Change: Common, Own: Common}
	}
	return Entry{}
}

func (l Layout) inAdmins(name string) Entry {
	r := guarded(l.LinkedID(name))
	return Entry{Change: r, Own: r, Role: gitAdmin, Mkdir: true}
}

func inAdmin(name string) Entry {
	switch name {
	case headLockName:
		return headLock
	case gcLogName, gcLogName + lockSuffix: // a gc in the background of any checkout writes the log of the one that it was started in
		return Entry{Change: Common, Own: Common}
	case logsName:
		return Entry{Role: gitAdminLogs}
	}
	return Entry{}
}

func inAdminLogs(name string) Entry {
	if name == headLockName {
		return Entry{Change: Common, Own: Common}
	}
	return Entry{}
}

func (l Layout) inRefs(name string) Entry {
	switch {
	case name == headsName:
		return Entry{Change: Common, Own: Heads}
	case slices.Contains(perWorktreeRefs, name):
		r := guarded(l.tree)
		return Entry{Change: r, Own: r}
	}
	return Entry{}
}

func inLogs(name string) Entry {
	switch name {
	case headLockName:
		return Entry{Change: Common, Own: Common}
	case refsName:
		return Entry{Change: Common, Own: Common, Role: gitLogRefs}
	}
	return Entry{}
}

// LinkedID is the lease of a linked worktree by its name in worktrees/. Two names never have one id.
func (l Layout) LinkedID(name string) lease.WorktreeID {
	id, err := record.ParseWorktreeID(name)
	if err == nil && id != l.tree && len(name) <= maxPlainGitID && !strings.HasPrefix(name, encodedPrefix) {
		return id
	}
	return lease.WorktreeID(encodedPrefix + encodeID(name))
}

// encodeID replaces what no worktree id may have. What is too long for that is told apart by its hash.
func encodeID(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('_')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	if b.Len() > maxPlainGitID {
		return hashOf(name)
	}
	return b.String()
}

func hashOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "sha256-" + hex.EncodeToString(sum[:16])
}
