package place

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// DefaultControlRoot is where the lease records of a plain directory are by default. The fence is then local to
// this machine.
const DefaultControlRoot = "/var/lib/jvsfs/locks"

// controlRoot is that of this user: DefaultControlRoot is root's.
func controlRoot() string {
	if host.ByUser() {
		return filepath.Join(host.UserState(), "locks")
	}
	return DefaultControlRoot
}

// Place is where a source or worktree is and where its records are.
type Place struct {
	Shape   api.Shape
	Root    string           // the source: repository root, worktree or directory
	Repo    string           // the repository, "" for a plain directory
	ID      lease.WorktreeID // "" for a repository
	LockDir string
	Local   bool    // the lock directory is the default of this machine
	Foreign *treeID // the records belong to this other directory; nil: they do not
	Layout  layout.Name
	Why     string // the layout was chosen; "" if it was asked for
	Git     *layout.Repository
	Rules   *lockfile.Rules // those with taken_by: lease make worktrees of directories; nil: there are none
}

// SourceAt classifies an existing directory, clean and absolute. control
// overrides the lock directory, "" for none. want is the layout that was asked for.
func SourceAt(path, control string, want layout.Name) (Place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Place{}, api.NoPath(path, err)
	}
	if !info.IsDir() {
		return Place{}, api.NoDirectory(path)
	}
	name, why, err := layoutOf(path, want)
	if err != nil {
		return Place{}, err
	}
	if name == layout.JVS {
		p := Place{Shape: api.ShapeRepository, Root: path, Repo: path, LockDir: locksOf(path), Layout: name, Why: why}
		return p.withControl(control).recorded()
	}
	if p, ok, err := worktreeAt(path); err != nil {
		return p, err
	} else if ok && name == layout.Tree {
		p.Why = "it is a worktree of " + p.Repo
		return p.withControl(control).recorded()
	}
	p := recordedAt(path, control, usualRecords())
	p.Layout, p.Why = name, why
	if name == layout.Git {
		p.Git = cmp.Or(repositoryAt(path), onlyRepositoryIn(path))
	}
	return p, nil
}

// RepositoryIn is a directory in which the checkouts of one git repository are guarded, wherever they
// lie. All arguments are as in SourceAt.
func RepositoryIn(path, repository, control string) (Place, error) {
	r, err := repositoryWithin(path, repository)
	if err != nil {
		return Place{}, err
	}
	if err := layout.Git.Needs(layout.Marks{Git: r}); err != nil {
		return Place{}, err
	}
	p := recordedAt(path, control, usualRecords())
	p.Layout, p.Git = layout.Git, r
	return p, nil
}

// layoutOf is the layout that was asked for, if the directory has what it needs, or the one
// that the directory has.
func layoutOf(path string, want layout.Name) (layout.Name, string, error) {
	marks := marksOf(path)
	if want == layout.Git && marks.Git == nil {
		marks.Git = onlyRepositoryIn(path)
	}
	if want != layout.Auto {
		if err := want.Needs(marks); err != nil {
			return "", "", &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s: %v", path, err), Next: nextOf(want, path), Err: err}
		}
		return want, "", nil
	}
	name, why, err := layout.Choose(marks)
	if err != nil {
		return "", "", &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s: %v", path, err),
			Next: "name the layout that it will have: --layout jvs, jvs-folder or tree", Err: err}
	}
	return name, why, nil
}

// nextOf is what to do where a layout does not fit.
func nextOf(want layout.Name, path string) string {
	if want == layout.Git {
		return fmt.Sprintf("name the repository: jvsfs mount --repository DIR %s; or mount its directory", path)
	}
	return "see jvsfs layout " + path + ", and man jvsfs-layouts"
}

// WorktreeOf finds the worktree at or above path. path is clean and absolute and need not exist.
func WorktreeOf(path, control string) (Place, error) {
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if p, ok, err := worktreeAt(dir); err != nil {
			return p, err
		} else if ok {
			return p.withControl(control).recorded()
		}
		name, why, err := layout.Choose(marksOf(dir))
		if name == layout.Folder {
			return plainDirectoryOf(path, dir, control, why) // its .jvs too is a matter of that one lease
		}
		if name == layout.JVS || err != nil {
			return Place{}, &api.Failure{
				Class: api.ClassUsage, Message: fmt.Sprintf("%s is in the repository %s but in none of its worktrees", path, dir),
				Next: fmt.Sprintf("name one of them: %s/main or %s/worktrees/NAME", dir, dir),
			}
		}
	}
	return plainDirectoryOf(path, "", control, "")
}

// plainDirectoryOf finds the nearest directory at or above path that has
// records, or else the folder of JVS that path lies in, or else the directory that path names.
func plainDirectoryOf(path, folder, control, why string) (Place, error) {
	usual := usualRecords()
	if control == "" {
		for dir := path; dir != "/" && dir != filepath.Dir(folder); dir = filepath.Dir(dir) {
			if p := recordedAt(dir, "", usual); dir != folder && Exists(p.LockDir) {
				return p, nil
			}
		}
	}
	if folder != "" {
		p := recordedAt(folder, control, usual)
		p.Layout, p.Why = layout.Folder, why
		return p, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return Place{}, api.NoPath(path, err)
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	return recordedAt(path, control, usual), nil
}

// usualRecords are the records of plain directories at the default place.
func usualRecords() []bound { return BoundIn(host.EscapeGlob(controlRoot()) + "/*") }

func (p Place) withControl(control string) Place {
	if control != "" {
		p.LockDir = control
	}
	return p
}

// worktreeAt reports whether dir is a worktree of a repository by its path: REPO/main or REPO/worktrees/NAME.
func worktreeAt(dir string) (Place, bool, error) {
	parent, name := filepath.Dir(dir), filepath.Base(dir)
	repo := parent
	if name != "main" {
		if filepath.Base(parent) != "worktrees" {
			return Place{}, false, nil
		}
		repo = filepath.Dir(parent)
	}
	if !isRepository(repo) {
		return Place{}, false, nil
	}
	id, err := record.ParseWorktreeID(name)
	if err != nil {
		return Place{}, false, err
	}
	return Place{Shape: api.ShapeWorktree, Root: dir, Repo: repo, ID: id, LockDir: locksOf(repo), Layout: layout.Tree}, true, nil
}

// directoryAt is a plain directory with its lock directory.
func directoryAt(path, control string) Place {
	sum := sha256.Sum256([]byte(path))
	hash := hex.EncodeToString(sum[:6])
	id, err := record.ParseWorktreeID(filepath.Base(path))
	if err != nil {
		id = lease.WorktreeID("dir-" + hash)
	}
	p := Place{Shape: api.ShapeDirectory, Root: path, ID: id, LockDir: control, Layout: layout.Tree}
	if control == "" {
		p.LockDir = filepath.Join(controlRoot(), string(id)+"-"+hash)
		p.Local = true
	}
	return p
}

func locksOf(repo string) string { return filepath.Join(repo, ".jvs", "locks") }

func isRepository(dir string) bool {
	marks := marksOf(dir)
	name, _, err := layout.Choose(marks)
	return marks.Control && (name == layout.JVS || err != nil)
}

// Exists is also true if the path cannot be examined. Then the error is reported when the directory is opened.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// ForgetEmpty removes a default lock directory that stayed empty. If it existed, it would count as the place of
// the records.
func (p Place) ForgetEmpty() {
	if p.Local {
		_ = os.Remove(p.LockDir) // fails, as it should, if it is not empty
	}
}

// OpenLockDir opens the lock directory of p. It makes the parents of the default one; any other parent must
// exist.
func (p Place) OpenLockDir() (*lease.Dir, error) { return p.openLockDir(lease.OpenDir) }

func (p Place) openLockDir(open func(path string) (*lease.Dir, error)) (*lease.Dir, error) {
	if p.Local {
		if host.ByUser() {
			if err := host.PrepareUserState(); err != nil {
				return nil, err
			}
		}
		if err := os.MkdirAll(filepath.Dir(p.LockDir), 0o700); err != nil {
			return nil, fmt.Errorf("lock directory: %w", err)
		}
	}
	dir, err := open(p.LockDir)
	if err != nil || p.InRepository() {
		return dir, err
	}
	if err := lockdir.RefuseExposed(p.LockDir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// Above finds the source that a path lies in, as an admin would mount it: a whole repository
// rather than one of its worktrees. rel is the path below it. path is clean and absolute, and
// need not exist.
func Above(path string) (p Place, rel string, err error) {
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		marks := marksOf(dir)
		if !marks.Control && !marks.Locator {
			continue
		}
		if p, err = SourceAt(dir, "", layout.Auto); err == nil {
			rel = host.RelativeTo(dir, path)
		}
		return p, rel, err
	}
	there := path
	for there != "/" && !Exists(there) {
		there = filepath.Dir(there)
	}
	if p, err = WorktreeOf(there, ""); err == nil {
		rel = host.RelativeTo(p.Root, path)
		_, p.Why, err = layout.Choose(layout.Marks{})
	}
	return p, rel, err
}
