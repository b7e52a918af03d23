package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// Each class of failures is spelled in one place, as a constant of its type, and has its row in the table of exit codes.
func TestClassesAreSpelledOnce(t *testing.T) {
	looksLikeClass := regexp.MustCompile(`^"E_[A-Z_]+"$`)
	var spelled []lease.Class
	for _, dir := range append(rooms(t), append(core, "cmd/jvsfs")...) {
		for _, f := range sources(t, dir) {
			constants := constantsOf(f, "Class")
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || !looksLikeClass.MatchString(lit.Value) {
					return true
				}
				require.Contains(t, constants, ast.Expr(lit), "%s: %s: use the constant of the class", dir, lit.Value)
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				require.NotContains(t, spelled, lease.Class(text), dir)
				spelled = append(spelled, lease.Class(text))
				return true
			})
		}
	}
	var known []lease.Class
	for _, row := range api.Exits {
		known = append(known, row.Classes...)
	}
	require.ElementsMatch(t, spelled, known)
}

// constantsOf are the values of a file's constants that have a type of the name, here or in another package.
func constantsOf(f *ast.File, typeName string) (values []ast.Expr) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if typeNamed(v.Type) == typeName {
				values = append(values, v.Values...)
			}
		}
	}
	return values
}

func typeNamed(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// A command never ends with a number: it ends with a constant of the table.
func TestExitCodesAreSpelledOnce(t *testing.T) {
	var seen []api.ExitCode
	for _, row := range api.Exits {
		require.NotContains(t, seen, row.Code)
		seen = append(seen, row.Code)
	}
	require.True(t, slices.IsSorted(seen))
	for _, dir := range append(rooms(t), "cmd/jvsfs") {
		for _, f := range sources(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if slices.Contains([]string{"Exit", "ExitWith", "ExitCode"}, typeNamed(n.Fun)) && len(n.Args) == 1 {
						require.False(t, isNumber(n.Args[0]), "%s: an exit code as a number", dir)
					}
				case *ast.KeyValueExpr:
					if typeNamed(n.Key) == "Code" {
						require.False(t, isNumber(n.Value), "%s: an exit code as a number", dir)
					}
				}
				return true
			})
		}
	}
}

// isNumber reports whether an expression is a number, or calculates with one.
func isNumber(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.INT
	case *ast.BinaryExpr:
		return isNumber(e.X) || isNumber(e.Y)
	}
	return false
}

// The integration tests have numbers of their own, as a script has. They are those of the table.
func TestTheHarnessKnowsTheExitCodes(t *testing.T) {
	want := map[string]api.ExitCode{
		"ExitUsage": api.ExitUsage, "ExitConflict": api.ExitConflict, "ExitExpired": api.ExitExpired, "ExitNotHeld": api.ExitNotHeld,
		"ExitFencing": api.ExitFencing, "ExitClockSkew": api.ExitClockSkew, "ExitStore": api.ExitStore, "ExitDead": api.ExitNoMount,
		"ExitBusy": api.ExitBusy, "ExitUnquiet": api.ExitUnquiet, "ExitPartial": api.ExitPartial, "ExitLost": api.ExitLeaseLost, "ExitInterrupted": api.ExitInterrupted,
	}
	got := map[string]api.ExitCode{}
	for _, f := range sources(t, "integration/harness") {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && regexp.MustCompile(`^Exit[A-Z]`).MatchString(v.Names[0].Name) && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					code, err := strconv.Atoi(lit.Value)
					require.NoError(t, err)
					got[v.Names[0].Name] = api.ExitCode(code)
				}
			}
			return true
		})
	}
	require.Equal(t, want, got)
}
