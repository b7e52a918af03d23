package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// source is a file that was parsed.
type source struct {
	path string // where compiler errors and stack traces place it
	text []byte
	set  *token.FileSet
	tree *ast.File
}

func parse(path string, text []byte) (source, error) {
	s := source{path: path, text: text, set: token.NewFileSet()}
	var err error
	s.tree, err = parser.ParseFile(s.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

func (s source) offset(p token.Pos) int { return s.set.PositionFor(p, false).Offset }

func (s source) between(from, to token.Pos) string {
	return string(s.text[s.offset(from):s.offset(to)])
}

func (s source) of(n ast.Node) string { return s.between(n.Pos(), n.End()) }

// from is the text from p to the end of n. The directive before it gives it its place, so that what the compiler and the runtime say of it is true.
func (s source) from(p token.Pos, n ast.Node) string { return s.line(p) + s.between(p, n.End()) }

// line is no comment to the end of the line: a line's end may end a statement.
func (s source) line(p token.Pos) string {
	at := s.set.PositionFor(p, false)
	return fmt.Sprintf("/*line %s:%d:%d*/", s.path, at.Line, at.Column)
}

// typeOf is the type of a variable, as far as the text says so by itself, else "".
func (s source) typeOf(declared, value ast.Expr) string {
	if declared != nil {
		return s.of(declared)
	}
	switch v := value.(type) {
	case *ast.FuncLit:
		return s.of(v.Type)
	case *ast.UnaryExpr:
		if v.Op == token.AND {
			if typ := s.typeOf(nil, v.X); typ != "" {
				return "*" + typ
			}
		}
	case *ast.CompositeLit:
		if a, ok := v.Type.(*ast.ArrayType); ok {
			if _, counted := a.Len.(*ast.Ellipsis); counted {
				return ""
			}
		}
		return s.of(v.Type)
	}
	return ""
}
