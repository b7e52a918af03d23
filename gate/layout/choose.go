package layout

import "errors"

// Marks are what somebody has seen in the root of a source.
type Marks struct {
	Control   bool        // .jvs is a directory
	Locator   bool        // .jvs is a file: JVS calls it the locator of a workspace
	Mode      string      // what .jvs/repo_mode says, "" if it is not there
	Main      bool        // main is a directory
	Worktrees bool        // worktrees is a directory
	Git       *Repository // of git, if there is one
}

// embedded is the mode of a repository of today's JVS whose .jvs lies in the folder itself.
const embedded = "embedded_control"

// ErrNothing says that no layout would guard anything, and what was looked for.
var ErrNothing = errors.New("it has .jvs, but neither main nor worktrees (the layout jvs), " +
	"nor " + embedded + " in .jvs/repo_mode (the layout jvs-folder): nothing would be guarded")

// Choose finds the layout that the marks are of, and says why. A folder of today's JVS may
// have a directory main of its own, so what JVS wrote counts for more than names.
func Choose(m Marks) (n Name, why string, err error) {
	switch {
	case m.Locator:
		return Folder, "its .jvs is a file, as in a workspace of JVS", nil
	case !m.Control && m.Git != nil:
		return Git, "it is a git repository", nil
	case !m.Control:
		return Tree, "it has no .jvs", nil
	case m.Mode == embedded:
		return Folder, "its .jvs/repo_mode is " + embedded, nil
	case m.Main:
		return JVS, "it has .jvs and main", nil
	case m.Worktrees:
		return JVS, "it has .jvs and worktrees", nil
	}
	return "", "", ErrNothing
}

// Needs says why a layout that was asked for by name does not fit the marks; nil if it does.
func (n Name) Needs(m Marks) error {
	switch {
	case n == JVS && !m.Control:
		return errors.New("the layout jvs needs a directory .jvs")
	case n == Folder && !m.Control && !m.Locator:
		return errors.New("the layout jvs-folder needs .jvs")
	case n == Git && m.Git == nil:
		return errors.New("the layout git needs a repository with its objects: .git, a bare one, or one in exactly one directory there")
	}
	return nil
}
