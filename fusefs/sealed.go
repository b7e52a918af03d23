package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// covers returns the rule that keeps the name of a sealed directory, or of one above it, from being
// removed; nil if an operation does not do that.
func (f *rawFS) covers(op gate.Op, dir *node, name string) *layout.Rule {
	if len(f.sealed)+len(f.above) == 0 || op != gate.OpUnlink && op != gate.OpRmdir && op != gate.OpRename {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	switch k := tree.KeyOf(&st); {
	case f.sealed[k], f.above[k] && f.git == nil:
		return layout.Sealed
	case f.above[k]:
		return layout.Fixed
	}
	return nil
}
