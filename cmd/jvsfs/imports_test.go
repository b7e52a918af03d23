package main

import (
	"bytes"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/jvsfs/jvsfs"

// core are the packages that serve the file system, the upper ones first.
var core = []string{"fusefs", "fusefs/transport", "gate/tenure", "gate", "gate/layout", "gate/lockfile", "gate/process", "lease", "lease/etcd", "mountcfg"}

// allowedInRooms says what each room below cmd/jvsfs/internal may import of the others, and of the core.
// A room that asks for more is either the wrong place for what asks, or an arrow to be argued for.
var allowedInRooms = map[string]string{
	"human": "",

	"fenceagent": "",
	"changes":    "",
	"rules":      "human gate/layout gate/lockfile mountcfg",
	"learn":      "human gate/process",
	"finding":    "human",
	"api":        "human gate gate/layout gate/tenure lease",
	"host":       "human api gate gate/layout gate/process gate/tenure lease",
	"lockdir":    "human finding api host lease",
	"place":      "human api host lockdir gate/layout gate/lockfile lease",
	"client":     "api host place fusefs gate/process",
	"lockop":     "human fenceagent api host place gate gate/process lease mountcfg",
	"recovery":   "api host place client lease",
	"daemon":     "human fenceagent finding api host lockdir place client lockop recovery rules fusefs fusefs/transport gate gate/layout gate/lockfile gate/process gate/tenure lease mountcfg",
	"doctor":     "human finding api host lockdir place client recovery rules fusefs fusefs/transport gate/layout gate/process lease mountcfg",
	"top":        "human api host client gate gate/tenure lease",
	"mcp":        "human api host client gate gate/process lease",
	"exporter":   "api host client",
	testRoom:     "finding lease/record",
}

const insideOf = "cmd/jvsfs/internal/"

// testRoom is the room that tests share: all tests of the command may import it, and nothing else may.
const testRoom = "testkit"

// Imports point one way: cmd -> its rooms -> fusefs -> gate -> lease; mountcfg and fusefs/transport stand alone.
func TestImportsPointOneWay(t *testing.T) {
	allowed := map[string][]string{
		"lease": {}, "lease/etcd": {"lease"}, "mountcfg": {}, "gate": {"lease", "gate/lockfile", "gate/process"}, "gate/layout": {"gate/lockfile", "lease"}, "gate/lockfile": {}, "gate/process": {},
		"gate/tenure": {"gate", "gate/lockfile", "gate/process", "lease"},
		"fusefs":      {"fusefs/transport", "gate", "gate/layout", "gate/lockfile", "gate/process", "gate/tenure", "lease"}, "fusefs/transport": {}, "cmd/jvsfs": core,
	}
	for room, names := range allowedInRooms {
		allowed["cmd/jvsfs"] = append(allowed["cmd/jvsfs"], insideOf+room)
		for name := range strings.FieldsSeq(names) {
			if !slices.Contains(core, name) {
				name = insideOf + name
			}
			allowed[insideOf+room] = append(allowed[insideOf+room], name)
		}
	}
	for _, dir := range rooms(t) {
		require.Contains(t, allowedInRooms, path.Base(dir), "say in allowedInRooms and .golangci.yml what the room may import")
	}
	for dir, may := range allowed {
		t.Run(dir, func(t *testing.T) {
			if strings.HasPrefix(dir, "cmd/jvsfs") {
				may = append(may, insideOf+testRoom)
				pkg, err := build.ImportDir(path.Join("../..", dir), 0)
				require.NoError(t, err)
				require.NotContains(t, pkg.Imports, module+"/"+insideOf+testRoom, "only tests import it")
			}
			for _, imported := range importsOf(t, dir) {
				require.Contains(t, may, imported, "%s imports %s", dir, imported)
			}
			if dir == "cmd/jvsfs" { // the one place where the torture is let in
				may = append(may, "integration/torture/wire")
			}
			for _, imported := range importsOf(t, dir, "jvsfs_torture") {
				require.Contains(t, may, imported, "%s imports %s in the build for the torture", dir, imported)
			}
		})
	}
}

// What the linter denies each room is what this file does not allow it.
func TestTheLinterDeniesTheImportsThatTheTestDenies(t *testing.T) {
	text, err := os.ReadFile("../../.golangci.yml")
	require.NoError(t, err)
	for room, names := range allowedInRooms {
		_, rule, found := strings.Cut(string(text), "        room-"+room+":")
		require.True(t, found, room)
		rule = strings.SplitN(rule, "files:", 3)[1] // up to the next rule
		for _, name := range append(slices.Collect(maps.Keys(allowedInRooms)), core...) {
			if name == testRoom {
				continue // it has a rule of its own, which spares tests
			}
			pkg := module + "/" + name
			if !slices.Contains(core, name) {
				pkg = module + "/" + insideOf + name
			}
			may := name == room || slices.Contains(strings.Fields(names), name)
			require.Equal(t, !may, strings.Contains(rule, "{pkg: "+pkg+"$,"), "%s: %s", room, name)
		}
	}
}

// importsOf are the packages of ours that a package imports, with its tests, in a build with the tags.
func importsOf(t *testing.T, dir string, tags ...string) (ours []string) {
	with := build.Default
	with.BuildTags = tags
	pkg, err := with.ImportDir(path.Join("../..", dir), 0)
	require.NoError(t, err)
	for _, imported := range slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports) {
		if rest, is := strings.CutPrefix(imported, module+"/"); is && rest != dir {
			ours = append(ours, rest)
		}
	}
	return ours
}

// Nobody puts failpoints into a process but the torture's own build.
func TestOnlyTheTortureSetsFailpoints(t *testing.T) {
	injecting := regexp.MustCompile(`\b(lease\.Inject|audit\.Inject|fusefs\.InjectAdmitted)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../../integration/torture/wire/") ||
			path == "../../lease/failpoint.go" { // which passes on what it got
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("Inject")) { // the expression alone takes seconds for all files
			require.NotRegexp(t, injecting, string(text), path)
		}
		return err
	})
	require.NoError(t, err)
}

// The SDK of the Model Context Protocol is a client's, with all that it brings: it stays out of the daemon.
func TestOnlyOnePackageImportsMCP(t *testing.T) {
	for _, dir := range append(rooms(t), append(core, "cmd/jvsfs")...) {
		pkg, err := build.ImportDir(path.Join("../..", dir), 0)
		require.NoError(t, err)
		speaks := slices.ContainsFunc(pkg.Imports, func(name string) bool { return strings.HasPrefix(name, "github.com/modelcontextprotocol/") })
		require.Equal(t, dir == insideOf+"mcp", speaks, dir)
	}
}

// The command line, the log and the configuration stay out of the core.
func TestCoreDoesNotLogOrParseFlags(t *testing.T) {
	for _, dir := range []string{"lease", "gate", "gate/process"} {
		pkg, err := build.ImportDir(path.Join("../..", dir), 0)
		require.NoError(t, err)
		for _, banned := range []string{"log", "log/slog", "go.uber.org/zap", "github.com/spf13/cobra", "flag"} {
			require.NotContains(t, pkg.Imports, banned, dir)
		}
	}
}
