package mountcfg

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	keyWorktrees = "worktrees"
	keyExempt    = "exempt"
	suffixMillis = "_ms"
)

// reader reads one document. It uses the library's syntax tree and the tables of keys, not its strict decoder. Measured with goccy/go-yaml
// 1.19.2 on the 102 wrong documents of the tests: the decoder takes 63 of them, many because it converts unasked (mode: 7, errno by an
// anchor, lease_duration_ms: 1.5 as 1), tells one mistake of each document instead of all, and keeps no line for the origins.
type reader struct {
	file  string
	base  string // directory for relative paths
	lines []string
	c     Config
	errs  []error

	inPreset bool         // the document is a preset
	wrong    map[int]bool // the rules whose shape is wrong
}

// parse reads a document over the defaults. All mistakes are reported at once.
func parse(file, base string, data []byte, checks ...RuleCheck) (Config, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // YAML 1.2, 5.2: some editors begin a file with a byte order mark
	return newReader(file, base, data).read(data, (*reader).configuration, checks)
}

func newReader(file, base string, data []byte) *reader {
	return &reader{file: file, base: base, lines: strings.Split(string(data), "\n"), c: Default(), wrong: make(map[int]bool)}
}

func (r *reader) configuration(body ast.Node) { r.each(body, "the configuration", r.top) }

// read reads the document as do does, and checks its rules.
func (r *reader) read(data []byte, do func(*reader, ast.Node), checks []RuleCheck) (Config, error) {
	body, err := r.document(data)
	if err != nil {
		return Config{}, err
	}
	if body != nil {
		do(r, body)
	}
	r.errs = append(r.errs, r.c.ruleErrors(checks, r.wrong)...)
	if len(r.errs) > 0 {
		return Config{}, errors.Join(r.errs...)
	}
	return r.c, nil
}

// document returns the root of the only document, nil if there is none.
func (r *reader) document(data []byte) (ast.Node, error) {
	tokens := lexer.Tokenize(string(data))
	if at := tooDeep(tokens); at != nil {
		return nil, r.errorAt(at, fmt.Sprintf("the lists and mappings are nested more than %d deep", mostNesting))
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, r.syntax(err)
	}
	var root ast.Node
	for _, doc := range f.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			return nil, r.errorAt(doc.Body.GetToken(), "the file has a second document; want one")
		}
		root = doc.Body
	}
	return root, nil
}

func (r *reader) syntax(err error) error {
	if located, ok := errors.AsType[yaml.Error](err); ok {
		return r.errorAt(located.GetToken(), located.GetMessage())
	}
	return fmt.Errorf("%s: %w", r.file, err)
}

func (r *reader) errorAt(at *token.Token, message string) error {
	if at == nil || at.Position == nil {
		return newFileError(r.file, r.lines, 1, 1, message)
	}
	return newFileError(r.file, r.lines, at.Position.Line, at.Position.Column, message)
}

func (r *reader) fail(at ast.Node, format string, args ...any) {
	r.errs = append(r.errs, r.errorAt(at.GetToken(), fmt.Sprintf(format, args...)))
}

// each calls do for every entry of a mapping. The parser has refused a key that is given twice.
func (r *reader) each(n ast.Node, what string, do func(key string, entry *ast.MappingValueNode)) {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "%s wants lines of 'key: value', not %s", what, describe(n))
		return
	}
	for _, entry := range entries {
		do(entry.Key.GetToken().Value, entry)
	}
}

// items calls do for the text of each item of a list of what is wanted.
func (r *reader) items(entry *ast.MappingValueNode, key, wanted string, k kind, do func(item ast.Node, text string)) {
	list, ok := entry.Value.(*ast.SequenceNode)
	if !ok {
		r.fail(entry.Value, "%s wants a list of %s, not %s", key, wanted, describe(entry.Value))
		return
	}
	for _, item := range list.Values {
		text, err := scalar(item, k)
		if err != nil {
			r.fail(item, "%s %v", key, err)
			continue
		}
		do(item, text)
	}
}

// top reads one entry of the top level.
func (r *reader) top(key string, entry *ast.MappingValueNode) {
	if key == keyWorktrees {
		r.c.Worktrees = make(map[string]WorktreeRule)
		r.each(entry.Value, key, r.worktree)
		return
	}
	f, unit := findOptionField(key)
	switch {
	case f == nil:
		r.fail(entry.Key, "unknown key %s%s", strconv.Quote(key), didYouMean(key, fieldKeys()))
	case f.kind == kindRules:
		r.c.remember(f.key, r.place(entry))
		r.rules(entry.Value)
	case f.kind == kindCommand:
		r.command(entry)
	case f.list != nil:
		r.list(f.key, f.list(&r.c), entry)
	case unit != "":
		r.value(f, kindMillis, entry)
	default:
		r.value(f, f.kind, entry)
	}
}

// value reads one scalar into its field.
func (r *reader) value(f *field, k kind, entry *ast.MappingValueNode) {
	if before, ok := r.c.origins[f.key]; ok {
		r.fail(entry.Key, "%s is given both as %s and as %s%s; first at %s", f.key, f.key, f.key, suffixMillis, before)
		return
	}
	text, err := scalar(entry.Value, k)
	if err != nil {
		r.fail(entry.Value, "%s %v", entry.Key.GetToken().Value, err)
		return
	}
	if err := f.set(&r.c, text, r.base); err != nil {
		r.fail(entry.Value, "%s %q: %v", entry.Key.GetToken().Value, entry.Value.GetToken().Value, err)
		return
	}
	r.c.remember(f.key, r.place(entry))
}

func (r *reader) place(entry *ast.MappingValueNode) string {
	return r.file + ":" + strconv.Itoa(entry.Key.GetToken().Position.Line)
}

// worktree reads the overrides of one worktree.
func (r *reader) worktree(id string, entry *ast.MappingValueNode) {
	if err := checkWorktreeID(id); err != nil {
		r.fail(entry.Key, "worktree id %q: %v", id, err)
		return
	}
	var rule WorktreeRule
	r.each(entry.Value, "worktree "+id, func(key string, e *ast.MappingValueNode) { r.override(id, &rule, key, e) })
	r.c.Worktrees[id] = rule
}

func (r *reader) override(id string, rule *WorktreeRule, key string, entry *ast.MappingValueNode) {
	if key == keyExempt {
		r.list(ruleKey(id, key), &rule.Exempt, entry)
		return
	}
	for i := range ruleFields {
		f := &ruleFields[i]
		if f.key != key {
			continue
		}
		text, err := scalar(entry.Value, kindChoice)
		if err != nil {
			r.fail(entry.Value, "%s %v", key, err)
			return
		}
		if *f.at(rule), err = f.choice.parse(text); err != nil {
			r.fail(entry.Value, "%s %q: %v", key, text, err)
			return
		}
		r.c.remember(ruleKey(id, key), r.place(entry))
		return
	}
	r.fail(entry.Key, "unknown key %q of worktree %s; want mode, on_free, scope or exempt%s", key, id, didYouMean(key, ruleKeys()))
}
