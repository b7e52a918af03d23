package journey

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is the name before each file's path in a profile of coverage.
const module = "github.com/jvsfs/jvsfs/"

// transport is left out: which of its ways a request takes depends on how busy the machine is.
const transport = "fusefs/transport/"

// function is where one begins: a file below the module's root, and a line.
type function struct {
	file string
	line int
}

// block is a part of a function as the compiler counts it.
type block struct {
	file     string
	from, to int // lines
}

// counts reads how often each block ran, of what the programs that were built with -cover left in dir.
func counts(dir string) (map[block]int, error) {
	profile := filepath.Join(dir, "profile")
	if said, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool covdata: %w\n%s", err, said)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	all := map[block]int{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		path, rest, _ := strings.Cut(lines.Text(), ":")
		var b block
		var column, statements, n int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from, &column, &b.to, &column, &statements, &n); err != nil {
			continue // the first line names the mode
		}
		b.file = strings.TrimPrefix(path, module)
		all[b] += n
	}
	return all, nil
}

// journey are the functions with a block that ran at least by times more often in the second profile than in the first.
// Functions without a name belong to that around them.
func journey(root string, few, many map[block]int, by int) ([]function, error) {
	found, starts := map[function]bool{}, map[string][][2]int{}
	for b, n := range many {
		if n-few[b] < by || strings.HasPrefix(b.file, transport) {
			continue
		}
		if _, known := starts[b.file]; !known {
			lines, err := functionsOf(filepath.Join(root, b.file))
			if err != nil {
				return nil, err
			}
			starts[b.file] = lines
		}
		for _, f := range starts[b.file] {
			if f[0] <= b.from && b.from <= f[1] {
				found[function{b.file, f[0]}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b function) int {
		return strings.Compare(fmt.Sprintf("%s:%6d", a.file, a.line), fmt.Sprintf("%s:%6d", b.file, b.line))
	}), nil
}

// functionsOf are the first and the last line of each function of a file.
func functionsOf(path string) (lines [][2]int, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			lines = append(lines, [2]int{fset.Position(f.Pos()).Line, fset.Position(f.End()).Line})
		}
	}
	return lines, nil
}

// filesOf is in how many files functions are.
func filesOf(all []function) int {
	files := map[string]bool{}
	for _, f := range all {
		files[f.file] = true
	}
	return len(files)
}
