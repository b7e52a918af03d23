package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

const (
	switchName = "jvsfsMutant" // the variable of each mutated package that says which mutant is in force (see switchFile)
	asIs       = -1            // its value for none, but each function that has mutants runs as they do
)

// rewriting is a source file that has many mutants of itself in it. What a mutant changes must lie in the bodies of functions, or in the
// values of package variables whose type can be read off. Such a function becomes
//
//	func (k *Keeper) look(ctx context.Context, _ bool) error {
//		switch jvsfsMutant {
//		case 17:
//			return func(k *Keeper, ctx context.Context) error { the mutated body }(k, ctx)
//		}
//		the body
//	}
//
// The mutated body is a function literal, not a function beside the original. So there is no new name and no new method, and type parameters
// are in scope. Receiver and parameters are handed on, not captured: a body may declare them anew (`k, err := ...`), and what is captured
// may move to the heap, which would change the original, too.
type rewriting struct {
	orig source
	arms map[int][]arm // by where in the original text their switch is
}

// arm is what a mutant does at a switch.
type arm struct {
	number int
	text   string // of its case
	asIs   string // the same, of the original
	until  int    // the original's end, if it becomes a case, too: a variable's value has nothing that would follow a switch
	typ    string // of that value
}

// mutantPath is where the text of a mutant comes from. The compiler names mutants by it (see namedIn).
func mutantPath(path string, number int) string { return fmt.Sprintf("%s.mutant%d", path, number) }

func newRewriting(path string, text []byte) (*rewriting, error) {
	orig, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	return &rewriting{orig: orig, arms: map[int][]arm{}}, nil
}

// add puts one more mutant into the file, unless it changes what no switch can.
func (w *rewriting) add(number int, mutated []byte) error {
	m, err := parse(mutantPath(w.orig.path, number), mutated)
	if err != nil {
		return err
	}
	was, is := w.orig.tree, m.tree
	if was.Name.Name != is.Name.Name || len(was.Decls) != len(is.Decls) {
		return errors.New("a declaration is made or removed")
	}
	found := map[int]arm{}
	for i := range was.Decls {
		if w.orig.of(was.Decls[i]) == m.of(is.Decls[i]) {
			continue
		}
		if err := w.declaration(found, m, was.Decls[i], is.Decls[i]); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return errors.New("no declaration changes")
	}
	for at, a := range found {
		if len(w.arms[at]) == 0 {
			w.arms[at] = []arm{{number: asIs, text: a.asIs, until: a.until, typ: a.typ}}
		}
		a.number = number
		w.arms[at] = append(w.arms[at], a)
	}
	return nil
}

// declaration finds what changes in one.
func (w *rewriting) declaration(found map[int]arm, m source, was, is ast.Decl) error {
	switch was := was.(type) {
	case *ast.FuncDecl:
		if is, ok := is.(*ast.FuncDecl); ok {
			return w.function(found, m, was, is)
		}
	case *ast.GenDecl:
		is, ok := is.(*ast.GenDecl)
		if !ok || was.Tok != token.VAR || is.Tok != token.VAR || len(was.Specs) != len(is.Specs) {
			break
		}
		for i := range was.Specs {
			if err := w.variables(found, m, was.Specs[i].(*ast.ValueSpec), is.Specs[i].(*ast.ValueSpec)); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("it changes more than a function's body or a variable's value")
}

func (w *rewriting) function(found map[int]arm, m source, was, is *ast.FuncDecl) error {
	if was.Body == nil || is.Body == nil || w.orig.between(was.Pos(), was.Body.Lbrace) != m.between(is.Pos(), is.Body.Lbrace) {
		return fmt.Errorf("it changes the signature of %s", was.Name.Name)
	}
	for _, f := range []*ast.FuncDecl{was, is} {
		if why := bound(f); why != "" {
			return fmt.Errorf("%s %s", f.Name.Name, why)
		}
	}
	found[w.orig.offset(was.Body.Lbrace)+1] = arm{text: m.literal(is), asIs: w.orig.literal(was)}
	return nil
}

// variables finds what changes in the values of a package's variables.
func (w *rewriting) variables(found map[int]arm, m source, was, is *ast.ValueSpec) error {
	if w.orig.of(was) == m.of(is) {
		return nil
	}
	n := len(was.Values)
	if n == 0 || len(is.Values) != n || len(was.Names) != n || w.orig.between(was.Pos(), was.Values[0].Pos()) != m.between(is.Pos(), is.Values[0].Pos()) {
		return fmt.Errorf("it changes more than the value of %s", was.Names[0].Name)
	}
	for i, v := range was.Values {
		by := is.Values[i]
		if w.orig.of(v) == m.of(by) {
			continue
		}
		typ := w.orig.typeOf(was.Type, v)
		if typ == "" || typ != m.typeOf(is.Type, by) {
			return fmt.Errorf("no type is written beside %s", was.Names[i].Name)
		}
		value := func(s source, v ast.Expr) string { return "return (" + s.from(v.Pos(), v) + ")" }
		found[w.orig.offset(v.Pos())] = arm{until: w.orig.offset(v.End()), typ: typ, text: value(m, by), asIs: value(w.orig, v)}
	}
	return nil
}

// bound says why a function's body cannot be another function's.
func bound(f *ast.FuncDecl) (why string) {
	if f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") }) {
		return "has a directive for the compiler"
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "recover" {
				why = "calls recover, which works in the deferred function itself only"
			}
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return why
}

// literal is the call of a function's body as one of a function without a name.
func (s source) literal(f *ast.FuncDecl) string {
	var params, args []string
	for _, list := range []*ast.FieldList{f.Recv, f.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			dots := ""
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				dots = "..."
			}
			for _, name := range field.Names {
				if name.Name != "_" { // which no body can use
					params, args = append(params, name.Name+" "+s.of(field.Type)), append(args, name.Name+dots)
				}
			}
		}
	}
	before, results, after := "", "", "\nreturn"
	if r := f.Type.Results; r != nil {
		before, results, after = "return ", s.of(r)+" ", ""
	}
	return before + "func(" + strings.Join(params, ", ") + ") " + results + "{" + s.from(f.Body.Lbrace+1, f.Body) + "(" + strings.Join(args, ", ") + ")" + after
}

// text is the file with all its mutants.
func (w *rewriting) text() string {
	var b strings.Builder
	file, done := w.orig.set.File(w.orig.tree.FileStart), 0
	for _, at := range slices.Sorted(maps.Keys(w.arms)) {
		arms := w.arms[at]
		b.Write(w.orig.text[done:at])
		done = at
		value := arms[0].until > 0
		if value {
			b.WriteString("func() " + arms[0].typ + " {")
		}
		b.WriteString("\nswitch " + switchName + " {\n")
		for _, a := range arms {
			fmt.Fprintf(&b, "case %d:\n%s\n", a.number, a.text)
		}
		b.WriteString("}\n")
		if value {
			b.WriteString(arms[0].text + "\n}()")
			done = arms[0].until
		}
		b.WriteString(w.orig.line(file.Pos(done)))
	}
	b.Write(w.orig.text[done:])
	return b.String()
}
