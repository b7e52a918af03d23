package layout

import (
	"slices"

	"github.com/jvsfs/jvsfs/lease"
)

// Rule says who judges the mutations of an inode or of a name.
type Rule struct {
	Kind     Kind
	Worktree lease.WorktreeID // of Guarded and Unheld
	Name     string           // as it stands in the directory, for people; of Guarded and BadName. Of a part: its path below the source
}

// Kind is how a rule judges.
type Kind uint8

// The kinds of rules.
const (
	PassThrough Kind = iota // nobody is asked
	Guarded                 // the guard of the worktree
	SealedOff               // jvsfs alone
	BadName                 // below worktrees/, but no worktree can be called so
	AppendOnly              // the audit chain: only appends
	Everybodys              // of a git repository: whoever may write to it, by way of git's lock files
	AddOnly                 // as Everybodys, but a file never changes once it is there
	FixedName               // nobody: the layout rests on it
	OfBranch                // a branch or its log: the guard of the checkout that has it, or else Everybodys
	Snapshot                // of JVS: whoever makes it, until it is READY; then nobody, but JVS removes it
	Unheld                  // whoever may change the name otherwise, while nobody else holds the worktree
)

// The rules without a name of their own.
var (
	Open   = &Rule{Kind: PassThrough}
	Sealed = &Rule{Kind: SealedOff}
	Append = &Rule{Kind: AppendOnly}

	Snapshots = &Rule{Kind: Snapshot}

	Common  = &Rule{Kind: Everybodys}
	Objects = &Rule{Kind: AddOnly}
	Heads   = &Rule{Kind: OfBranch}
	Fixed   = &Rule{Kind: FixedName}
)

func guarded(id lease.WorktreeID) *Rule {
	return &Rule{Kind: Guarded, Worktree: id, Name: string(id)}
}

// Same reports whether two rules judge alike. nil is no rule.
func (r *Rule) Same(o *Rule) bool {
	return r == o || r != nil && o != nil && *r == *o
}

// AddRule adds a rule unless it is there.
func AddRule(to []*Rule, r *Rule) []*Rule {
	for _, have := range to {
		if have.Same(r) {
			return to
		}
	}
	return append(to, r)
}

// SameRules reports whether the rules judge alike, one by one.
func SameRules(a, b []*Rule) bool { return slices.EqualFunc(a, b, (*Rule).Same) }

// Role is what a directory is to a layout: which of its names have rules.
type Role string

// Plain is the role of most directories: all in it is judged as the directory is.
const Plain Role = ""

const (
	repositoryRoot Role = "repository"  // main, worktrees, .jvs
	worktreesDir   Role = "worktrees"   // worktrees/: each entry is a worktree
	controlDir     Role = "control"     // .jvs of a repository: passes through, except locks and audit
	folderRoot     Role = "folder"      // of a folder of today's JVS: .jvs
	folderControl  Role = "folder/.jvs" // .jvs of a folder: passes through, except snapshots

	gitMain   Role = "main"    // the main checkout of a git repository
	gitAround Role = "around"  // a directory with a bare repository and its worktrees
	gitLinked Role = "linked"  // a linked checkout
	gitClaude Role = ".claude" // .claude of a checkout
	gitPlaces Role = "places"  // where agents make their worktrees

	gitCommon    Role = "git"                    // the common directory
	gitInfo      Role = gitCommon + "/info"      // its info
	gitAdmins    Role = gitCommon + "/worktrees" // its worktrees
	gitAdmin     Role = gitAdmins + "/NAME"      // worktrees/NAME
	gitAdminLogs Role = gitAdmin + "/logs"       // worktrees/NAME/logs
	gitRefs      Role = gitCommon + "/refs"      // refs
	gitLogs      Role = gitCommon + "/logs"      // logs
	gitLogRefs   Role = gitLogs + "/refs"        // logs/refs

	aboveParts Role = "above:" // parts lie below it; its path follows
)

// Entry is what a layout says of a name in a directory.
type Entry struct {
	Change *Rule // who judges making, removing or renaming the name; nil: as the directory is judged
	Own    *Rule // who judges what lies there and below; nil: as the directory is judged
	Role   Role  // of what lies there, if that is a directory
	IfDir  bool  // Own holds for a directory only
	Mkdir  bool  // anybody may make a directory of that name, whatever Change says
	Part   *Rule // who judges besides when a directory gets the name, or loses it; nil: it is no part's
}

// HasRule reports whether the name decides anything: to give it to something else, or take it
// away, changes who judges.
func (e Entry) HasRule() bool { return e.Change != nil || e.Own != nil || e.Role != Plain }

// Inode is the rule of what lies there: Own, or, of something that should be a directory with
// a role and is none, the rule of the name.
func (e Entry) Inode(isDir bool) *Rule {
	switch {
	case isDir:
		return e.Own
	case e.IfDir:
		return nil
	case e.Own == nil && e.Role != Plain:
		return e.Change
	}
	return e.Own
}
