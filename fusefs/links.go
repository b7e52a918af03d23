package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/hardlink"
)

// newHardlinks is the index of the source's files with several names.
func (f *rawFS) newHardlinks() *hardlink.Index {
	return hardlink.New(hardlink.Config{
		Tree: f.source, Layout: f.layout, Entry: f.opts.Layout.Entry, RootAt: f.git.RootAt, Moves: f.moves.Load, Away: f.opts.Enforcement.Wait, Foreign: f.durable,
		Failed: func(err error) {
			f.opts.Log.Warn("names of files with several could not be looked for, so such files are not written", zap.Error(err))
		},
		Unknown: func(inode uint64, err error) {
			f.opts.Log.Debug("a file has names that could not be looked for, so it is not written", zap.Uint64("inode", inode), zap.Error(err))
		},
	})
}

func (n *node) linkFile() hardlink.File { return hardlink.File{Key: n.key, FD: n.fd, Names: &n.links} }

// mayLink reports whether other names of a file can matter.
func (f *rawFS) mayLink(n *node) bool {
	return f.opts.Layout.ByName() && !n.IsDir() && (f.git == nil || f.git.HasRoots())
}

// linksKnown reports whether all names of a file are known that matter.
func (f *rawFS) linksKnown(n *node) (known bool, st fuse.Status) {
	if !f.mayLink(n) {
		return true, fuse.OK
	}
	known, err := f.hardlinks.Known(n.linkFile())
	return known, f.answer(err)
}

// learnLinks searches for the names of a file, unless they are known.
func (f *rawFS) learnLinks(n *node, who gate.Request) fuse.Status {
	if !f.mayLink(n) {
		return fuse.OK
	}
	return f.answer(f.hardlinks.Learn(n.linkFile(), who))
}

// rulesIf returns the rules as far as they are known. Outdated names must not stop anybody from
// searching for the current ones.
func (f *rawFS) rulesIf(known bool, n *node, to []*layout.Rule) []*layout.Rule {
	if known {
		to = n.rules(to)
	} else {
		to = n.SeenRules(to)
	}
	return f.git.RulesOfContent(to, n)
}
