package place

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// repositoryAt finds the git repository of a directory: that of a main checkout, a bare one that .git
// leads to, or the directory itself. nil: there is none, or the repository of a checkout lies elsewhere.
func repositoryAt(dir string) *layout.Repository {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Lstat(dotGit)
	switch {
	case err == nil && info.IsDir() && isCommon(dotGit):
		return &layout.Repository{Common: ".git", Around: isBare(dotGit)}
	case err == nil && info.Mode().IsRegular():
		return repositoryBy(dir, dotGit)
	case isCommon(dir):
		return &layout.Repository{Around: true}
	}
	return nil
}

// repositoryBy follows the file .git of a directory that has its bare repository in it.
func repositoryBy(dir, dotGit string) *layout.Repository {
	to, ok := strings.CutPrefix(textOf(dotGit), "gitdir:")
	if !ok {
		return nil
	}
	if to = strings.TrimSpace(to); !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	rel := host.RelativeTo(dir, filepath.Clean(to))
	if rel == "" || !host.Within(dir, filepath.Clean(to)) || strings.Contains(rel, "/") || !isCommon(filepath.Join(dir, rel)) {
		return nil
	}
	return &layout.Repository{Common: rel, Around: true}
}

// repositoryWithin is the repository that somebody names, anywhere below a directory.
func repositoryWithin(dir, repository string) (*layout.Repository, error) {
	rel := host.RelativeTo(dir, repository)
	switch {
	case !host.Within(dir, repository) || rel == "":
	case isCommon(filepath.Join(repository, ".git")):
		return &layout.Repository{Common: rel + "/.git", Main: rel, Around: true}, nil
	case isCommon(repository):
		return &layout.Repository{Common: rel, Around: true}, nil
	}
	return nil, api.Usagef("%s is not a git repository below %s", repository, dir)
}

// RepositoryOf is a place whose repository somebody has named.
func RepositoryOf(p Place, repository string) (Place, error) {
	var err error
	p.Git, err = repositoryWithin(p.Root, repository)
	return p, err
}

// entriesMax bounds the search for a repository in a directory.
const entriesMax = 1000

// onlyRepositoryIn finds the repository that lies in a directory, if there is exactly one. It is looked
// for only if somebody asks for the layout git: what lies beside it has no guard.
func onlyRepositoryIn(dir string) (found *layout.Repository) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close() //nolint:errcheck // only read from
	names, _ := d.Readdirnames(entriesMax)
	for _, name := range names {
		var r *layout.Repository
		switch {
		case isCommon(filepath.Join(dir, name, ".git")):
			r = &layout.Repository{Common: name + "/.git", Main: name, Around: true}
		case isCommon(filepath.Join(dir, name)):
			r = &layout.Repository{Common: name, Around: true}
		default:
			continue
		}
		if found != nil {
			return nil
		}
		found = r
	}
	return found
}

// isCommon reports whether a directory is a repository of git: one that git would take for one
// (gitrepository-layout(5)), and no link to one.
func isCommon(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && !info.IsDir() && isDir(dir) && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

var bareTrue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^\s*bare\s*=\s*true\s*$`) })

func isBare(common string) bool {
	return bareTrue().MatchString(textOf(filepath.Join(common, "config")))
}

// CheckoutsElsewhere are the worktrees of a git repository that no mount of the place guards.
func (p Place) CheckoutsElsewhere() (dirs []string) {
	if p.Git == nil {
		return nil
	}
	l, err := LayoutAt(p)
	if err != nil {
		return nil
	}
	for _, name := range GitAdmins(p.Root, l) {
		note := strings.TrimSpace(textOf(filepath.Join(p.Root, l.AdminOf(name), "gitdir")))
		if _, below := layout.CheckoutRoot(note, name, p.Git.Common, p.Root); below || note == "" {
			continue
		}
		if !filepath.IsAbs(note) {
			note = filepath.Join(p.Root, l.AdminOf(name), note)
		}
		if dir := filepath.Dir(note); isDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// LayoutAt is the layout of a place with what its files say now. It is read without rights that the
// caller has not: what cannot be read counts as not there.
func LayoutAt(p Place, seenAt ...string) (layout.Layout, error) {
	l, err := layout.New(p.Layout, p.ID)
	if err == nil {
		l, err = l.WithParts(p.Rules)
	}
	if err != nil || p.Layout != layout.Git {
		return l, err
	}
	r := p.Git // nil: only the mount knows
	if r == nil {
		if r = cmp.Or(repositoryAt(p.Root), onlyRepositoryIn(p.Root)); r == nil {
			return l, nil
		}
	}
	known := *r
	l = l.With(known)
	bases := append(seenAt, p.Root)
	for _, name := range GitAdmins(p.Root, l) {
		note := textOf(filepath.Join(p.Root, l.AdminOf(name), "gitdir"))
		root, ok := layout.CheckoutRoot(note, name, known.Common, bases...)
		if ok && l.MayBeCheckout(root) && l.PointsTo(textOf(filepath.Join(p.Root, root, ".git")), root, name, bases...) {
			known.Linked = append(known.Linked, layout.Checkout{ID: l.LinkedID(name), Name: name, Root: root})
		}
	}
	return l.With(known), nil
}

// GitAdmins lists the administrations of linked checkouts.
func GitAdmins(root string, l layout.Layout) []string {
	d, err := os.Open(filepath.Join(root, l.AdminOf("")))
	if err != nil {
		return nil
	}
	defer d.Close() //nolint:errcheck // only read from
	names, _ := d.Readdirnames(-1)
	return names
}

// GuardOf is the rule of a path below a place.
func GuardOf(root string, l layout.Layout, rel string, isDir bool) *layout.Rule {
	own := l.Of(rel, isDir).Own
	if own.Kind != layout.OfBranch {
		return own
	}
	return l.RuleOfRef(l.InCommon(rel), GitAdmins(root, l), func(rel string) (string, bool) {
		text := textOf(path.Join(root, rel))
		return text, text != ""
	})[0]
}
