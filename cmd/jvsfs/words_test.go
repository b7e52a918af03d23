package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// A class of errors and the name of a loss are spelled once: where they are defined. A second spelling would be a
// branch that a renamed word leaves behind, and that the compiler does not see.
func TestClassesAndKindsAreSpelledOnce(t *testing.T) {
	class := regexp.MustCompile(`^E_[A-Z_]+$`)
	kinds := kindWords()
	seen := map[string]string{}
	for file, words := range literals(t) {
		for _, word := range words {
			if class.MatchString(word) {
				require.Empty(t, seen[word], "%s in %s, too: use the constant", word, file)
				seen[word] = file
			}
			if slices.Contains(kinds, word) {
				require.Contains(t, []string{"lease/loss.go", "lease/event.go"}, file, "%q: use LossKind.Name or the EventKind", word)
			}
		}
	}
	require.Contains(t, seen, string(lease.ClassLockConflict), "the sources were read")
}

// kindWords are the words of losses and events, but for those that are also another vocabulary's: a State's, or an
// operation's.
func kindWords() (words []string) {
	for k := range lease.LossKinds {
		words = append(words, k.Name(), k.String())
	}
	words = append(words, string(lease.EventExpire), string(lease.EventLateWrite))
	return slices.DeleteFunc(words, func(word string) bool { return word == lease.Expired.String() })
}

// literals are the strings of every source that is not a test's, by file.
func literals(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, dir := range append([]string{"cmd"}, core...) {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if _, read := all[name]; read { // with the room that it is in
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						all[name] = append(all[name], s)
					}
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	return all
}
