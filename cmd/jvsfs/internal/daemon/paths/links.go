package paths

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// Commands do not follow links on a mount, which may not answer. So the path of a request may have links in it, and a worktree's name may be
// one. A lease of the place that the text names would then keep nobody from the place where the caller's writes go.

// RefuseLink refuses a path whose links lead out of the worktree that its text names. so is what the lease of that worktree is not good for.
// Only root is told where they lead: a user may not be able to read them.
func (d *Paths) RefuseLink(w lease.WorktreeID, rel string, uid uint32, so string) error {
	end, out := d.leadsOut(w, rel)
	if !out {
		return nil
	}
	if uid != 0 {
		end = "another place"
	}
	return &api.Failure{Class: api.ClassUsage, File: d.nameOf(rel),
		Message: fmt.Sprintf("a symbolic link leads from there to %s, and the lease of worktree %s %s", end, w, so),
		Next:    "name the place itself, not the link"}
}

func (d *Paths) nameOf(rel string) string { return human.Printable(filepath.Join(d.mountpoint, rel)) }

// leadsOut reports whether the links of a path lead out of the worktree that its text names, and to which place.
func (d *Paths) leadsOut(w lease.WorktreeID, rel string) (end string, out bool) {
	end, followed, inside := d.follow(rel)
	if !followed {
		return "", false
	}
	if !inside {
		return "another place", d.isLink(d.RootOf(w))
	}
	id, ok := d.tree.WorktreeOf(end)
	return d.nameOf(end), !ok || id != w || d.isLink(d.RootOf(id))
}

func (d *Paths) isLink(rel string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.tree.SourceFD(), rel, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// mostLinks is the kernel's bound (MAXSYMLINKS).
const mostLinks = 40

// follow is where a path below the source leads, by links in the source. inside is false if that is not known, or outside of it.
func (d *Paths) follow(rel string) (end string, followed, inside bool) {
	rest, at := strings.Split(rel, "/"), "."
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." && at == "." {
			return "", followed, false
		}
		next := filepath.Join(at, name)
		target, is := d.readLink(next)
		if !is {
			at = next
			continue
		}
		if links++; links > mostLinks {
			return "", true, false
		}
		followed = true
		if filepath.IsAbs(target) {
			if target, at = d.ownPath(target), "."; target == "" {
				return "", true, false
			}
		}
		rest = append(slices.Clone(strings.Split(target, "/")), rest...)
	}
	if at == "." {
		at = ""
	}
	return at, followed, true
}

func (d *Paths) readLink(rel string) (target string, is bool) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.tree.SourceFD(), rel, buf)
	return string(buf[:max(n, 0)]), err == nil
}

// ownPath is an absolute path below the mount, as one below the source. "" if it is elsewhere.
func (d *Paths) ownPath(path string) string {
	if !host.Within(d.mountpoint, path) {
		return ""
	}
	rel, err := filepath.Rel(d.mountpoint, path)
	if err != nil {
		return ""
	}
	return rel
}
