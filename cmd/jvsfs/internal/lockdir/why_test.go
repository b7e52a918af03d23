package lockdir

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

// TestEveryFindingSaysWhy walks the source for the ids that doctor can report: each one
// that is not well has its line in the table, and each line its finding.
func TestEveryFindingSaysWhy(t *testing.T) {
	reported := map[string]bool{}
	for _, step := range probeSteps {
		reported[step.id] = true
	}
	require.NoError(t, filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isFinding(n.Fun) {
					noteID(t, reported, n.Args[0])
				}
			case *ast.KeyValueExpr: // of a probe that failed before the steps
				if k, ok := n.Key.(*ast.Ident); ok && k.Name == "id" {
					noteID(t, reported, n.Value)
				}
			}
			return true
		})
		return err
	}))
	for id := range reported {
		require.NotEmpty(t, finding.WhyItMatters[id], "why does %s matter?", id)
	}
	for id, why := range finding.WhyItMatters {
		require.True(t, reported[id], "nothing reports %s", id)
		require.NotContains(t, why, "\n")
		check, what, ok := strings.Cut(id, ".")
		require.True(t, ok && check != "" && what != "", id)
	}
}

// isFinding knows finding.Warn and finding.Fail.
func isFinding(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Warn" && sel.Sel.Name != "Fail" {
		return false
	}
	room, ok := sel.X.(*ast.Ident)
	return ok && room.Name == "finding"
}

// noteID takes the literal ids; what is passed on was a literal elsewhere.
func noteID(t *testing.T, reported map[string]bool, e ast.Expr) {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	id, err := strconv.Unquote(lit.Value)
	require.NoError(t, err)
	if strings.Contains(id, ".") {
		reported[id] = true
	}
}
