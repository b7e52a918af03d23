package layout

import (
	"path"
	"slices"
	"strings"
)

// CheckoutRoot finds a linked checkout by the text of worktrees/NAME/gitdir, which names the
// checkout's .git: an absolute path, or one from worktrees/NAME (git 2.48 and later). common is the
// common directory below the source, and bases are the absolute paths of the source, as programs may
// have seen it. ok is false if the checkout does not lie below the source.
func CheckoutRoot(gitdir, name, common string, bases ...string) (root string, ok bool) {
	gitdir = strings.TrimRight(gitdir, "\r\n")
	if path.Base(gitdir) != gitName || strings.ContainsRune(gitdir, 0) {
		return "", false
	}
	dir := path.Dir(gitdir)
	if !path.IsAbs(dir) {
		root = path.Join(common, adminsName, name, dir)
		return root, root != "." && root != ".." && !strings.HasPrefix(root, "../")
	}
	for _, base := range bases {
		if rel, in := strings.CutPrefix(path.Clean(dir), strings.TrimSuffix(base, "/")+"/"); in {
			return rel, true
		}
	}
	return "", false
}

// MayBeCheckout reports whether a linked checkout may lie at a path below the source. What a note says
// does not make the repository, or what it lies in, a checkout.
func (l Layout) MayBeCheckout(root string) bool {
	for _, taken := range []string{l.git.Common, l.git.Main} {
		if root == taken || strings.HasPrefix(taken, root+"/") {
			return false
		}
	}
	return root != "" && (l.git.Common == "" || !strings.HasPrefix(root, l.git.Common+"/"))
}

// PlaceOver finds the place in which anybody may make checkouts that a directory is, or lies below. Both are paths
// below the source. ok is false if there is none: neither a checkout nor what lies in one is a place.
func (l Layout) PlaceOver(dir string) (place string, ok bool) {
	for ; dir != "" && dir != "."; dir = path.Dir(dir) {
		if r := l.Of(dir, true).Role; r != Plain {
			return dir, r.IsPlace()
		}
	}
	return "", false
}

// PointsTo reports whether the text of the .git of a checkout leads to the administration with a name.
// Whoever could write it has the checkout.
func (l Layout) PointsTo(text, root, name string, bases ...string) bool {
	to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir:")
	if to = strings.TrimLeft(to, " \t"); !ok || to == "" {
		return false
	}
	if !path.IsAbs(to) {
		return path.Join(root, to) == l.AdminOf(name)
	}
	return slices.ContainsFunc(bases, func(base string) bool { return path.Clean(to) == path.Join(base, l.AdminOf(name)) })
}

// BranchFiles are the files of a checkout's administration that name branches which it has in use, as
// git worktree sees it (prepare_checked_out_branches in git's branch.c). BranchesIn reads them.
var BranchFiles = []string{"HEAD", "rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START", UpdateRefs}

// UpdateRefs lists what git rebase --update-refs moves at its end: for each ref a line with its name, and two with its
// values before and after.
const UpdateRefs = "rebase-merge/update-refs"

const headsPrefix = refsName + "/" + headsName + "/"

// BranchIn finds the branch that one of the BranchFiles names, without refs/heads/.
func BranchIn(file, text string) (branch string, ok bool) {
	text = strings.TrimRight(text, "\r\n")
	switch file {
	case "HEAD":
		if text, ok = strings.CutPrefix(text, "ref:"); !ok {
			return "", false
		}
		text = strings.TrimLeft(text, " \t")
	case "BISECT_START":
		if !strings.HasPrefix(text, refsName+"/") {
			return text, text != ""
		}
	}
	return strings.CutPrefix(text, headsPrefix)
}

// BranchesIn are the branches that one of the BranchFiles names.
func BranchesIn(file, text string) (all []string) {
	if file != UpdateRefs {
		if branch, ok := BranchIn(file, text); ok {
			all = append(all, branch)
		}
		return all
	}
	for i, line := range strings.Split(text, "\n") {
		if branch, ok := strings.CutPrefix(line, headsPrefix); ok && i%3 == 0 {
			all = append(all, branch)
		}
	}
	return all
}

// symrefDepth is how many branches git follows that stand for another one (SYMREF_MAXDEPTH).
const symrefDepth = 5

// users finds the checkouts that have a branch in use which is asked for. admins are the names in
// worktrees/; read gives the text of a file below the source, or false.
func (l Layout) users(asked func(used string) bool, admins []string, read func(rel string) (string, bool)) (all []*Rule) {
	uses := func(admin string) bool {
		return slices.ContainsFunc(BranchFiles, func(file string) bool {
			text, ok := read(path.Join(admin, file))
			return ok && slices.ContainsFunc(BranchesIn(file, text), func(used string) bool { return l.standsFor(used, asked, read) })
		})
	}
	if uses(l.git.Common) {
		all = append(all, guarded(l.tree))
	}
	for _, name := range admins {
		if uses(l.AdminOf(name)) {
			all = append(all, guarded(l.LinkedID(name)))
		}
	}
	return all
}

// standsFor reports whether a branch is one that is asked for, or stands for one.
func (l Layout) standsFor(used string, asked func(used string) bool, read func(rel string) (string, bool)) bool {
	ok := true
	for range symrefDepth {
		if !ok || asked(used) {
			return ok
		}
		var text string
		if text, ok = read(path.Join(l.git.Common, headsPrefix, used)); ok {
			used, ok = BranchIn("HEAD", text)
		}
	}
	return false
}

// RuleOfRef are the rules of a name below refs/heads or logs/refs/heads of the common directory: all
// checkouts that have the branch in use must agree (git worktree add --force makes a second one).
// Anybody may lock a branch, as git pack-refs does. A file or a symbolic link in the place of a
// directory of branches concerns those.
func (l Layout) RuleOfRef(rel string, admins []string, read func(rel string) (string, bool)) []*Rule {
	branch, lock, ok := RefAt(rel)
	if !ok || lock {
		return []*Rule{Common}
	}
	asked := func(used string) bool { return used == branch || strings.HasPrefix(used, branch+"/") }
	return orCommon(l.users(asked, admins, read))
}

// RuleOfRefDir are the rules of making and removing a directory there: git does both as branches come and go.
func (l Layout) RuleOfRefDir(rel string, admins []string, read func(rel string) (string, bool)) []*Rule {
	branch, _, _ := RefAt(rel)
	return orCommon(l.users(func(used string) bool { return used == branch }, admins, read))
}

func orCommon(rules []*Rule) []*Rule {
	if len(rules) == 0 {
		return []*Rule{Common}
	}
	return rules
}

// RuleOfRefContent are the rules of what lies there. Who moves a branch writes into its lock; who only
// packs or expires does not.
func (l Layout) RuleOfRefContent(rel string, admins []string, read func(rel string) (string, bool)) []*Rule {
	if !strings.HasPrefix(rel, logsName+"/") {
		rel = strings.TrimSuffix(rel, lockSuffix)
	}
	return l.RuleOfRef(rel, admins, read)
}

// AdminOf is the administration of a linked checkout, below the source.
func (l Layout) AdminOf(name string) string { return path.Join(l.git.Common, adminsName, name) }

// InCommon makes a path below the source one below the common directory. One beside it begins with
// "../".
func (l Layout) InCommon(rel string) string {
	switch below, in := strings.CutPrefix(rel, l.git.Common+"/"); {
	case l.git.Common == "" || rel == l.git.Common:
		return strings.TrimPrefix(rel, l.git.Common)
	case in:
		return below
	}
	return "../" + rel
}

// RefAt is the branch that a name below refs/heads or logs/refs/heads belongs to. The path is below
// the common directory. lock says that it is the lock file of it.
func RefAt(rel string) (branch string, lock, ok bool) {
	rel = strings.TrimPrefix(rel, logsName+"/")
	branch, ok = strings.CutPrefix(rel, headsPrefix)
	if branch, lock = strings.CutSuffix(branch, lockSuffix); branch == "" {
		ok = false
	}
	return branch, lock, ok
}

// IsLock reports whether a name is that of a lock file of git. packed-refs.new is made while
// packed-refs.lock exists; one that is left over would stop everybody as well.
func IsLock(name string) bool {
	return strings.HasSuffix(name, lockSuffix) && len(name) > len(lockSuffix) || name == packedNew
}

// IsObject reports whether a name below objects is that of an object, a pack or its index: the name
// says what is in it, so it is replaced by the same bytes only. rel is below objects.
func IsObject(rel string) bool {
	dir, name := path.Split(rel)
	if dir == "pack/" {
		return strings.HasPrefix(name, "pack-") && slices.Contains([]string{".pack", ".idx", ".rev"}, path.Ext(name))
	}
	return len(dir) == len("ab/") && len(name) >= 38 && strings.Trim(name, hexDigits) == ""
}

// IsKept reports whether a name below objects is that of an object, of a pack, or of an index of them. Temporary files have
// the names that each program likes: tmp_obj_x, incoming_1.pack (JGit), pack_git2_x (libgit2). JGit removes the pack-*.keep
// that it has made for a fetch. rel is below objects.
func IsKept(rel string) bool {
	dir, name := path.Split(rel)
	switch {
	case IsTemporary(name):
		return false
	case dir == "pack/":
		ofPack := []string{".pack", ".idx", ".rev", ".bitmap", ".mtimes", ".promisor"}
		return strings.HasPrefix(name, "multi-pack-index") || strings.HasPrefix(name, "pack-") && slices.Contains(ofPack, path.Ext(name))
	case strings.HasPrefix(dir, "info/"), strings.HasPrefix(dir, "pack/multi-pack-index.d/"):
		return true
	}
	return IsObject(rel)
}

// IsTemporary reports whether a name below objects is for a moment only, as git has them.
func IsTemporary(name string) bool { return strings.Contains(name, "tmp") || IsLock(name) }

// IsFrame reports whether a name of the common directory is always that of a directory: git follows a
// symbolic link there, and finds what somebody else has written. rel is below the source.
func (l Layout) IsFrame(rel string) bool {
	return slices.Contains([]string{"", refsName, refsName + "/" + headsName, logsName, logsName + "/" + refsName, logsName + "/" + refsName + "/" + headsName, objectsName, adminsName}, l.InCommon(rel))
}

// IsRef reports whether a name is that of a branch, of its log or lock, or of a directory of those. rel
// is below the source.
func (l Layout) IsRef(rel string) bool {
	_, _, ok := RefAt(l.InCommon(rel))
	return ok
}

// Unmovable reports whether a directory of the repository never gets another name: what belongs to
// several checkouts lies in it, or it is known by its name. rel is below the source.
func (l Layout) Unmovable(rel string) bool {
	if rel == l.git.Common || rel == l.git.Main {
		return rel != ""
	}
	top, _, below := strings.Cut(l.InCommon(rel), "/")
	return slices.Contains([]string{refsName, logsName, objectsName}, top) || !below && top == adminsName
}

// IsLog reports whether a path below the common directory is that of a log: of a branch, or of the HEAD
// of a checkout.
func IsLog(rel string) bool {
	if admin, in := strings.CutPrefix(rel, adminsName+"/"); in {
		_, rel, _ = strings.Cut(admin, "/")
	}
	return strings.HasPrefix(rel, logsName+"/")
}

// IsHead reports whether a path below the common directory is that of the HEAD of a checkout.
func IsHead(rel string) bool {
	admin, in := strings.CutPrefix(rel, adminsName+"/")
	if in {
		_, rel, _ = strings.Cut(admin, "/")
	}
	return rel == "HEAD"
}
