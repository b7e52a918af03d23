package paths

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// Tree is the part of the file system that knows where worktrees are.
type Tree interface {
	SourceFD() int
	WorktreeOf(rel string) (lease.WorktreeID, bool)
	RootOf(id lease.WorktreeID) string
	Device() (major, minor uint32)
}

// Paths says where paths of a mount lead, and who may write there. Its fields do not change after Over.
type Paths struct {
	tree       Tree
	mountpoint string
	repository bool // its worktrees are main and worktrees/*
	jvs        bool // and people know them as that
}

// New is for a mount of a place at mountpoint.
func New(mountpoint string, p place.Place) *Paths {
	return &Paths{mountpoint: mountpoint, repository: p.Shape == api.ShapeRepository, jvs: p.Layout == layout.JVS}
}

// Over says where the paths lie. Before it only names can be asked for.
func (d *Paths) Over(tree Tree) { d.tree = tree }

// Mountpoint is where the mount is, or will be.
func (d *Paths) Mountpoint() string { return d.mountpoint }

// PathOf is the path of a worktree of this mount.
func (d *Paths) PathOf(id lease.WorktreeID) string {
	if rel := d.RootOf(id); id != "" && rel != "." { // "": what belongs to no worktree
		return d.mountpoint + "/" + rel
	}
	return d.mountpoint
}

// Below is a path below the source, through the mount.
func (d *Paths) Below(rel string) string { return filepath.Join(d.mountpoint, rel) }

// InNoWorktree refuses a request about the lease of a path that no lease guards.
func (d *Paths) InNoWorktree(rel string) *api.Failure {
	path, next := filepath.Join(d.mountpoint, rel), "jvsfs layout names what guards a path"
	if d.jvs {
		next = fmt.Sprintf("name one of them: %s, or %s/NAME", human.Typed(filepath.Join(d.mountpoint, "main")), human.Typed(filepath.Join(d.mountpoint, "worktrees")))
	}
	return &api.Failure{Class: api.ClassUsage, Message: path + " is in none of the worktrees of this mount, so it has no lease", Next: next}
}

// IsDir reports whether a path below the source is a directory now. No symbolic link is followed.
func (d *Paths) IsDir(rel string) bool {
	if rel == "" {
		return true
	}
	fd, err := unix.Openat2(d.tree.SourceFD(), rel, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
