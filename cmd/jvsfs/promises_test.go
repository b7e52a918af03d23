package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/exec"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/exporter"
)

// promisedAt says which row of the tables of jvsfs-json(7) has the JSON names of a type: the
// row's first words. A type that is not here is never printed, and stands among unpromised.
var promisedAt = map[string]string{
	"status.statusReport": "`status`", "status.watchLine": "`status`", "api.MountStatus": "`status`", "api.EnforceStatus": "`status`",
	"gate.Status": "`worktrees[]` of it", "fusefs.Stats": "`statistics` of it", "fusefs.Features": "`statistics` of it", "transport.State": "`statistics` of it", "fusefs.User": "`statistics` of it",
	"gate.Quiesced": "`quiesced` of a worktree", "api.StoreStatus": "`status`",
	"api.Event":       "a line of `watch`",
	"api.RuleLock":    "`lock` of it",
	"api.RefusalView": "a refusal", "refusals.Located": "a refusal",
	"api.holderView": "a holder", "gate.HolderView": "a holder", "record.Record": "a record",
	"gate.Explanation": "`explain PATH`", "api.Explanation": "`explain PATH`", "api.ByRules": "`explain PATH`", "api.ByPermission": "`explain PATH`", "tenure.View": "`rules[]` of it, and `rules break`", "explain.recentReport": "`explain` |", "layout.guardedPath": "`layout` | a list", "agents.hookDecision": "`hook`",
	"mcp.statusAnswer": "`status`", "mcp.statusArgs": "a tool of `mcp`", "mcp.pathArgs": "a tool of `mcp`", "mcp.acquireArgs": "a tool of `mcp`",
	"mcp.waitArgs": "a tool of `mcp`", "mcp.handoverArgs": "a tool of `mcp`", "mcp.leaseAnswer": "a tool of `mcp`",
	"doctor.doctorReport": "`doctor`", "finding.Finding": "`doctor`",
	"config.View": "`config show`", "mountcfg.Origin": "`config show`",
	"tenure.WindowView": "`windows[]` of it", "api.RuleWindow": "`windows[]` of it",
	"rules.rulesView": "`rules`", "rules.presetView": "`rules`", "rules.learnedView": "`rules learn`", "rules.Said": "`rules test`", "rules.instanceView": "`rules test`", "rules.leaseView": "`rules test`", "api.PartRule": "`status`",
	"config.configCheck": "`config check`", "config.checkedFile": "`config check`", "config.mistake": "`config check`",
	"mount.Mounted": "`mount`; `umount`", "mount.unmountReport": "`mount`; `umount`",
	"mount.recoveries": "`recover`", "mount.recovered": "`recover`",
	"api.EnforceAnswer": "`enforce`; `lock handover`", "api.HandoverResult": "`enforce`; `lock handover`",
	"api.LockStatus": "`lock status`; `lock release`", "fencecheck.checkedFence": "`fence-check`",
	"lock.releasedLease": "`lock status`; `lock release`",
	"audit.auditReport":  "`audit verify`; a line of `audit tail`", "audit.Fault": "`audit verify`; a line of `audit tail`",
	"audit.Record":  "`audit verify`; a line of `audit tail`",
	"api.buildInfo": "`version`", "api.failureReport": "any failure", "api.Failure": "any failure", "api.BusyEntry": "any failure",
}

// unpromised are between our own processes.
var unpromised = []string{
	"api.Where", "api.Process", "api.Taking", "api.Holding", "api.Successor", "api.Doctor", "api.Unmount", "api.Enforce", "api.Refusals", "api.Acquire", "api.Steal", "api.Handover", "api.Quiesce", "api.Window",
	"api.BreakRule", "api.OpenRule", "api.CloseRule", "tenure.File", "tenure.Kept", "tenure.KeptTenure", "tenure.KeptRest", "host.loanText",
	"api.Unmounted", "api.Left", "api.MetricsText", "api.Response", "api.Leased", "api.Kept", "child.GoAhead", "agents.hookEvent", "api.RefusalAnswer", "api.Events", "api.EventsAnswer", "background.readiness",
	"host.MountState", "host.ProcessState", "host.entry", "journal.File", "journal.RevokedHolder", "place.chosen", "place.treeFile", "place.treeID", "audit.Anchor",
}

// page is the text of a page of the manual.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("pages/" + name + ".md")
	require.NoError(t, err)
	return string(text)
}

// row is the one row of the page's tables that begins with the words.
func row(t *testing.T, page, words string) string {
	t.Helper()
	rows := regexp.MustCompile(`(?m)^\| `+regexp.QuoteMeta(words)+`.*$`).FindAllString(page, -1)
	require.Len(t, rows, 1, words)
	return rows[0]
}

// rooms are the packages below cmd/jvsfs/internal, at any depth.
func rooms(t *testing.T) (dirs []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() == "testdata" {
			return err
		}
		if found, _ := filepath.Glob(filepath.Join(name, "*.go")); len(found) > 0 { // fails only for a bad pattern
			dirs = append(dirs, path.Join("cmd/jvsfs", filepath.ToSlash(name)))
		}
		return nil
	}))
	require.NotEmpty(t, dirs)
	return dirs
}

// families are the packages of the command line but for its root.
func families(t *testing.T) (dirs []string) {
	t.Helper()
	names, err := os.ReadDir("internal/cli")
	require.NoError(t, err)
	for _, name := range names {
		if name.IsDir() {
			dirs = append(dirs, path.Join(insideOf, "cli", name.Name()))
		}
	}
	require.NotEmpty(t, dirs)
	return dirs
}

// sources are the parsed files of a package of this module, without its tests.
func sources(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	require.NotEmpty(t, files)
	return files
}

// jsonTypes are the struct types of a package that have JSON names, with these.
func jsonTypes(t *testing.T, dir string) map[string][]string {
	all := map[string][]string{}
	for _, f := range sources(t, dir) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					if names := jsonNames(s.Type); len(names) > 0 {
						all[path.Base(dir)+"."+s.Name.Name] = names
					}
				}
			}
		}
	}
	return all
}

func jsonNames(e ast.Expr) (names []string) {
	s, ok := e.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Every name of the JSON that commands print stands in the manual, in the row of its command.
func TestManualPromisesTheJSON(t *testing.T) {
	text, seen := page(t, "jvsfs-json.7"), map[string]bool{}
	for _, dir := range append(rooms(t), "cmd/jvsfs", "gate", "gate/tenure", "lease", "lease/audit", "lease/record", "fusefs", "fusefs/transport", "mountcfg") {
		for name, fields := range jsonTypes(t, dir) {
			seen[name] = true
			words, ok := promisedAt[name]
			if !ok {
				require.Contains(t, unpromised, name, "promise its names in jvsfs-json(7), and say here where")
				continue
			}
			for _, field := range fields {
				require.Contains(t, row(t, text, words), "`"+field+"`", name)
			}
		}
	}
	for name := range promisedAt {
		require.Contains(t, seen, name, "is no type any more")
	}
}

// What is printed has a type, whose names can be found.
func TestPrintedJSONHasAType(t *testing.T) {
	calls := 0
	for _, dir := range append(families(t), insideOf+"cli") {
		for _, f := range sources(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if name, ok := call.Fun.(*ast.SelectorExpr); !ok || name.Sel.Name != "PrintJSON" {
					return true
				}
				calls++
				if what, ok := call.Args[1].(*ast.CompositeLit); ok {
					_, untyped := what.Type.(*ast.MapType)
					require.False(t, untyped, "give it a type, for TestManualPromisesTheJSON")
				}
				return true
			})
		}
	}
	require.Greater(t, calls, 10)
}

// Every metric stands in the manual, with its labels beside it.
func TestManualPromisesTheMetrics(t *testing.T) {
	text := page(t, "jvsfs-operations.7")
	for _, d := range append(slices.Clone(metrics.All), exporter.AllMetrics...) {
		rows := regexp.MustCompile("(?m)^\\| .*`"+d.Name+"`.*$").FindAllString(text, -1)
		require.Len(t, rows, 1, d.Name)
		for _, label := range d.Labels {
			require.Contains(t, rows[0], "`"+label+"`", d.Name)
		}
	}
}

// Every exit code stands in the manual.
func TestManualPromisesTheExitCodes(t *testing.T) {
	text := page(t, "jvsfs-json.7")
	for _, exit := range api.Exits {
		promise := row(t, text, fmt.Sprintf("%d |", exit.Code))
		for _, class := range exit.Classes {
			require.Contains(t, promise, "`"+string(class)+"`")
		}
	}
}

// Every name that exec sets for its command stands in the manual.
func TestManualPromisesTheEnvironment(t *testing.T) {
	text := page(t, "jvsfs-json.7")
	for name := range (exec.HeldLease{}).Environment() {
		row(t, text, "`"+name+"`")
	}
}

// Every command can be read by a program, but those that hand the terminal over.
func TestEveryCommandTakesJSON(t *testing.T) {
	leaves := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		switch {
		case c.HasSubCommands() || c.Hidden:
		case c.Name() == "exec" || c.Name() == "run" || c.Name() == "quiesce" || c.Name() == "exporter" || c.Name() == "mcp" || c.Name() == "top":
			require.Nil(t, c.Flags().Lookup("json"), "%s: jvsfs-json(7) says that it has none", c.CommandPath())
		default:
			leaves++
			require.NotNil(t, c.Flags().Lookup("json"), c.CommandPath())
		}
	}
	walk(cli.NewRoot(cli.Program{}))
	require.Greater(t, leaves, 15)
}
