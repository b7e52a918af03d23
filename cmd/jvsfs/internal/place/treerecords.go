package place

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Records outside of their directory name that directory in a file beside them. So they follow the directory
// when it is renamed, and tokens do not start again. Another directory at the same place is not mistaken for
// it. Early releases wrote no such file; their records are taken over by the path.
//
// No worktree id has a "#", so no record has such a name.
const (
	treePrefix     = "#tree."
	treeSuffix     = ".json"
	repositoryFile = "#repository.json"
	treeVersion    = 1
	maxTreeFile    = 64 << 10
	maxTrees       = 16 // in one file: each was put in the place of the one before
)

// treeFile names the directories for which the records of a worktree are. The last one was seen last.
type treeFile struct {
	Version int      `json:"version"`
	Trees   []treeID `json:"trees"`
}

func (f *treeFile) has(t treeID) bool { return slices.ContainsFunc(f.Trees, t.is) }

// add makes t the last one.
func (f *treeFile) add(t treeID) {
	f.Trees = append(slices.DeleteFunc(f.Trees, t.is), t)
	if more := len(f.Trees) - maxTrees; more > 0 {
		f.Trees = f.Trees[more:]
	}
}

func treeName(id lease.WorktreeID) string { return treePrefix + string(id) + treeSuffix }

// readTreeFile reads one; an absent one is empty. shown is the path for people, if path leads by a descriptor.
func readTreeFile(path, shown string) (*treeFile, error) {
	f := &treeFile{Version: treeVersion}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return f, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: shown, Err: err}
	}
	file := os.NewFile(uintptr(fd), shown)
	defer host.CloseFile(file)
	err = json.NewDecoder(io.LimitReader(file, maxTreeFile)).Decode(f)
	if err == nil && f.Version != treeVersion {
		err = fmt.Errorf("it is of another release of jvsfs (%d, want %d)", f.Version, treeVersion)
	}
	if err != nil {
		return nil, &lease.Error{Class: lease.ClassStoreFailed, File: shown, Message: "it cannot be read for which directory these records are", Err: err,
			Next: "look at the file; remove it, and the records are taken over by who mounts with them next"}
	}
	return f, nil
}

// write puts the file into a lock directory, whole or not at all.
func (f *treeFile) write(dirfd int, name string) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := unix.Unlinkat(dirfd, tmp, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: tmp, Err: err}
	}
	fd, err := unix.Openat(dirfd, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: tmp, Err: err}
	}
	file := os.NewFile(uintptr(fd), tmp)
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = unix.Renameat(dirfd, tmp, dirfd, name)
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(dirfd, tmp, 0))
	}
	return unix.Fsync(dirfd)
}

// bound is a worktree of a lock directory with the directories that it is for.
type bound struct {
	lockDir string
	id      lease.WorktreeID
	file    *treeFile
}

// BoundIn lists the bound worktrees of the lock directories that match the pattern. It leaves out files that
// cannot be read; opening them reports the error.
func BoundIn(lockDirs string) []bound {
	paths, _ := filepath.Glob(filepath.Join(lockDirs, treePrefix+"*"+treeSuffix))
	var out []bound
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), treePrefix), treeSuffix)
		id, err := record.ParseWorktreeID(name)
		if err != nil {
			continue
		}
		if f, err := readTreeFile(path, path); err == nil {
			out = append(out, bound{filepath.Dir(path), id, f})
		}
	}
	return out
}

// recordedAt is a plain directory with the records that are for it, also if it had another path when they were
// made. usual are the records at the usual place.
func recordedAt(path, control string, usual []bound) Place {
	p := directoryAt(path, control)
	tree, err := identifyTree(path)
	if err != nil {
		return p // it does not exist: the last directory at the path is meant
	}
	if control != "" {
		usual = BoundIn(host.EscapeGlob(control))
	}
	for _, b := range usual {
		if b.file.has(tree) {
			p.LockDir, p.ID = b.lockDir, b.id
			return p
		}
	}
	if i := slices.IndexFunc(usual, func(b bound) bool { return b.lockDir == p.LockDir && b.id == p.ID }); i >= 0 {
		p.settle(tree, usual[i].file)
	}
	return p
}

// settle decides about records at the place of p's records that are for another directory. If that directory is
// gone, p has replaced it, and the tokens continue.
func (p *Place) settle(tree treeID, file *treeFile) {
	became, other := fateOfAll(file.Trees, tree.Path)
	switch {
	case became == fateGone, became == fateUnknown && other.Path == tree.Path:
	case p.Local: // the other one was moved away, and keeps its records
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", tree.Inode, tree.Born, tree.Handle))
		p.LockDir = filepath.Join(controlRoot(), string(p.ID)+"-"+hex.EncodeToString(sum[:6]))
	default:
		p.Foreign = &other
	}
}

// ownFile is the name of the file that names the directory of p's records, "" if they are inside of that
// directory.
func (p Place) ownFile() string {
	switch {
	case p.Shape == api.ShapeDirectory:
		return treeName(p.ID)
	case p.LockDir == locksOf(p.Repo):
		return ""
	}
	return repositoryFile
}

// recorded checks that records that were chosen for a repository do not belong to another one.
func (p Place) recorded() (Place, error) {
	if p.ownFile() != repositoryFile {
		return p, nil
	}
	shown := filepath.Join(p.LockDir, repositoryFile)
	file, err := readTreeFile(shown, shown)
	if err != nil || len(file.Trees) == 0 {
		return p, err
	}
	tree, err := identifyTree(p.Repo)
	if err == nil && !file.has(tree) {
		p.settle(tree, file)
	}
	return p, err
}

// BindRecords notes in the lock directory for which directory the records of p are. With force it does so even
// if they belong to another directory.
func (p Place) BindRecords(dirfd int, force bool) error {
	name, path := p.ownFile(), p.Root
	switch {
	case name == "":
		return nil
	case p.Foreign != nil && !force:
		return p.NotOurs()
	case name == repositoryFile:
		path = p.Repo
	}
	tree, err := identifyTree(path)
	if err != nil {
		return err
	}
	file, err := readTreeFile(fmt.Sprintf("/proc/self/fd/%d/%s", dirfd, name), filepath.Join(p.LockDir, name))
	if err != nil {
		return err
	}
	if n := len(file.Trees); n > 0 && file.Trees[n-1] == tree {
		return nil
	}
	file.add(tree)
	return file.write(dirfd, name)
}

// errNotOurs is the cause of refusing the records of another directory.
var errNotOurs = errors.New("the records are another directory's")

// NotOurs says for which other directory the records are.
func (p Place) NotOurs() *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Err: errNotOurs,
		Message: fmt.Sprintf("the records of %s in %s are those of another directory, which was at %s", worktreeText(p), p.LockDir, p.Foreign.Path),
		Next: fmt.Sprintf("give %s records of its own (--control); if it is a copy that takes the place of the other, or both are to have one lease: "+
			"jvsfs doctor --repair --force --control %s %s", p.Root, p.LockDir, p.Root)}
}

func worktreeText(p Place) string {
	if p.Shape == api.ShapeDirectory {
		return string(p.ID)
	}
	return "repositories"
}
