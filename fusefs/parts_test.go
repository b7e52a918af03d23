package fusefs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// partsFS is a file system over a tree whose packages are parts, with these directories and a file in each.
func partsFS(t *testing.T, dirs ...string) *rawFS {
	t.Helper()
	rules, mistakes := lockfile.Compile([]lockfile.Spec{{Name: "p", TakenBy: lockfile.ByLease, Guards: []string{"packages/{x}/**"}}})
	require.Empty(t, mistakes)
	l, err := laidOut(layout.Tree, "tree").WithParts(rules)
	require.NoError(t, err)
	source := t.TempDir()
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(filepath.Join(source, dir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(source, dir, "f"), nil, 0o644))
	}
	root, err := unix.Open(source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	f, err := newRawFS(Options{Source: source, Mountpoint: source, Layout: l, Enforcement: gate.NewEnforcement(gate.Enforcing), Log: zap.NewNop(),
		Guards: func(id lease.WorktreeID) (*gate.Guard, error) {
			return gate.NewGuard(gate.GuardConfig{Worktree: id}), nil
		}}, root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.close()) })
	return f
}

// nodeOf is the node of a path, as the kernel comes to know it.
func (f *rawFS) nodeOf(t *testing.T, path ...string) *node {
	t.Helper()
	n := f.root
	for _, name := range path {
		fd, st, err := lookupAt(n, name)
		require.NoError(t, err)
		n = f.remember(&fuse.InHeader{}, fd, &st, n, name)
	}
	return n
}

// said are rules as words: the worktree, with "?" in front where it is only asked whether nobody else holds it.
func said(rules []*layout.Rule) (all []string) {
	for _, r := range rules {
		mark := ""
		if r.Kind == layout.Unheld {
			mark = "?"
		}
		all = append(all, mark+string(r.Worktree))
	}
	return all
}

// Who judges a name among the parts: of a directory also who holds the part, of a file nobody but the tree.
func TestWhoJudgesTheNameOfAPart(t *testing.T) {
	f := partsFS(t, "packages/a", "packages/a/sub", "packages/b", "docs/d", "packages/file")
	require.NoError(t, os.RemoveAll(filepath.Join(f.opts.Source, "packages/file")))
	require.NoError(t, os.WriteFile(filepath.Join(f.opts.Source, "packages/file"), nil, 0o644))
	packages, a, docs := f.nodeOf(t, "packages"), f.nodeOf(t, "packages", "a"), f.nodeOf(t, "docs")
	for op, want := range map[gate.Op][]string{
		gate.OpMkdir: {"tree", "?p.x"}, gate.OpRmdir: {"tree", "?p.x"}, gate.OpCreate: {"tree"}, gate.OpUnlink: {"tree"}, gate.OpSymlink: {"tree"},
	} {
		rules, _ := f.nameRules(process.Caller{}, op, packages, "x")
		require.Equal(t, want, said(rules), "%s", op)
	}
	rules, _ := f.nameRules(process.Caller{}, gate.OpMkdir, a, "x")
	require.Equal(t, []string{"p.a"}, said(rules), "in a part")
	for _, row := range []struct {
		from, to     *node
		old, renamed string
		want         []string // nil: EXDEV
	}{
		{packages, packages, "a", "c", []string{"tree", "?p.a", "?p.c"}},
		{packages, docs, "a", "c", []string{"tree", "?p.a"}},
		{docs, packages, "d", "b", []string{"tree", "?p.b"}},
		{a, packages, "sub", "c", []string{"p.a", "tree", "?p.c"}},
		{packages, packages, "file", "g", []string{"tree"}},
		{a, packages, "f", "g", nil},
		{a, docs, "sub", "g", nil},
		{f.root, f.root, "packages", "pk", nil},
		{f.root, f.root, "docs", "packages", nil},
	} {
		r := renaming{in: &fuse.RenameIn{}, from: row.from, oldName: row.old, to: row.to, newName: row.renamed}
		rules, _, ok := f.renameRules(r)
		require.Equal(t, row.want != nil, ok, row.renamed)
		if !ok {
			continue
		}
		require.Equal(t, row.want, said(rules), row.renamed)
		guards, err := f.guardsConcerned(r)
		require.NoError(t, err)
		var frozen []string
		for _, g := range guards {
			frozen = append(frozen, string(g.Worktree()))
		}
		var want []string
		for _, rule := range rules {
			want = append(want, string(rule.Worktree))
		}
		require.Equal(t, want, frozen, "what is frozen meanwhile")
	}
}

// A root whose id does not tell where it lies is looked for.
func TestAPartIsFoundWhoseIdDoesNotTellItsPlace(t *testing.T) {
	long := strings.Repeat("long", 50)
	f := partsFS(t, "packages/a", "packages/"+long)
	id := f.layout().Of("packages/"+long, true).Own.Worktree
	require.Empty(t, f.layout().RootOf(id))
	require.Equal(t, "packages/"+long, f.rootOfPart(id))
	require.Empty(t, f.rootOfPart("p.gone"))
	require.Empty(t, f.rootOfPart("tree"))
}
