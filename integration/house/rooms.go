package house

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// module is the name before each package's path.
const module = "github.com/jvsfs/jvsfs/"

// Rooms are the directories whose code the program is made of.
var Rooms = []string{"lease", "gate", "fusefs", "mountcfg", "cmd"}

// Load reads and checks the packages of the rooms, without their tests. dir is the module's root.
func Load(dir string) ([]*packages.Package, error) {
	patterns := make([]string, len(Rooms))
	for i, room := range Rooms {
		patterns[i] = "./" + room + "/..."
	}
	all, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports}, patterns...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range all {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	}
	return all, errors.Join(errs...)
}

// Figure is one measured number: what of which name.
type Figure struct{ What, Name string }

func (f Figure) String() string { return f.What + "\t" + f.Name }

// fewFiles are so few that a reader sees them all; which of them uses which is not counted.
const fewFiles = 10

// Measure counts what the budgets are about.
func Measure(all []*packages.Package) map[Figure]int {
	figures := map[Figure]int{}
	for _, p := range all {
		name := strings.TrimPrefix(p.PkgPath, module)
		room, _, _ := strings.Cut(name, "/")
		for _, file := range p.Syntax {
			figures[Figure{"files", name}]++
			figures[Figure{"lines", room}] += p.Fset.File(file.FileStart).LineCount() - 1
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					figures[Figure{"methods", name + "." + receiver(f.Recv.List[0].Type)}]++
				}
			}
		}
		if len(p.Syntax) < fewFiles {
			continue
		}
		back, whole := Backward(Arrows(p))
		figures[Figure{"backward", name}] = (100*back + whole - 1) / whole
	}
	return figures
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// Arrow says that a file of a package uses what another one of it defines.
type Arrow struct{ From, To string }

// Arrows are those between the files of a package: functions, types, variables, methods and fields.
func Arrows(p *packages.Package) map[Arrow]bool {
	file := func(pos token.Pos) string { return filepath.Base(p.Fset.Position(pos).Filename) }
	arrows := map[Arrow]bool{}
	for ident, of := range p.TypesInfo.Uses {
		if of.Pkg() != p.Types || !of.Pos().IsValid() {
			continue
		}
		if v, ok := of.(*types.Var); ok && !v.IsField() && v.Parent() != p.Types.Scope() {
			continue // a variable of a function
		}
		if a := (Arrow{file(ident.Pos()), file(of.Pos())}); a.From != a.To {
			arrows[a] = true
		}
	}
	return arrows
}
