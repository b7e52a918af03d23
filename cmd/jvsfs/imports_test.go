package main

import (
	"bytes"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
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
var core = []string{"fusefs", "fusefs/flock", "fusefs/inotify", "fusefs/transport", "gate/policy/exempt", "gate/policy/git", "gate/policy/hardlink", "gate/policy/jvs", "gate/policy/lockfiles", "gate/engine", "gate/tree", "gate/tenure", "gate", "gate/layout", "gate/lockfile", "gate/process", "gate/wait", "lease", "lease/etcd", "lease/repair", "lease/audit", "lease/record", "mountcfg"}

// allowedInRooms says what each room below cmd/jvsfs/internal may import of the others, and of the core.
// A room that asks for more is either the wrong place for what asks, or an arrow to be argued for.
// The parts of the daemon, below its room, know nothing of the daemon, and little of each other.
var allowedInRooms = map[string]string{
	"human": "",

	"fenceagent":            "",
	"metrics":               "",
	"changes":               "",
	"rules":                 "human gate/layout gate/lockfile mountcfg",
	"learn":                 "human gate/process",
	"finding":               "human",
	"api":                   "human gate gate/layout gate/tenure lease lease/record",
	"host":                  "human api gate gate/layout gate/process gate/tenure lease",
	"lockdir":               "human finding api host lease lease/record lease/repair",
	"place":                 "human api host lockdir gate/layout gate/lockfile lease lease/audit lease/record",
	"client":                "api host place fusefs gate/process",
	"lockop":                "human fenceagent api host place gate gate/process gate/wait lease lease/audit lease/record mountcfg",
	"recovery":              "api host place client lease",
	"daemon":                "daemon/control daemon/events daemon/guardian daemon/journal daemon/leases daemon/logging daemon/metrics daemon/paths daemon/refusals daemon/rulelocks daemon/servicemanager daemon/storewatch daemon/succession human finding api host lockdir place lockop recovery rules fusefs fusefs/transport gate gate/layout gate/lockfile gate/process lease lease/audit lease/record mountcfg",
	"daemon/background":     "api host fenceagent daemon/logging mountcfg",
	"daemon/batch":          "",
	"daemon/control":        "api host lockop daemon/metrics daemon/socket gate gate/process lease",
	"daemon/events":         "human api daemon/refusals gate gate/process gate/tenure lease",
	"daemon/guardian":       "api host fenceagent",
	"daemon/journal":        "api host lease lease/record",
	"daemon/leases":         "human api daemon/metrics gate lease lease/record",
	"daemon/logging":        "daemon/batch human api host mountcfg",
	"daemon/metrics":        "metrics api daemon/socket fusefs fusefs/transport gate gate/tenure lease mountcfg",
	"daemon/paths":          "human api host place fusefs gate/layout gate/process lease",
	"daemon/refusals":       "human api daemon/batch gate gate/process lease lease/audit",
	"daemon/rulelocks":      "human finding api host lockop daemon/batch daemon/control gate gate/lockfile gate/process gate/tenure lease lease/audit",
	"daemon/servicemanager": "human",
	"daemon/socket":         "host",
	"daemon/storewatch":     "human api host place recovery fusefs lease",
	"daemon/succession":     "api host place client recovery daemon/control daemon/journal fusefs gate gate/process lease lease/record",
	"doctor":                "human finding api host lockdir place client recovery rules fusefs fusefs/transport gate gate/layout gate/process lease lease/record mountcfg",
	"top":                   "human api host client gate gate/tenure lease",
	"mcp":                   "human api host client gate gate/process lease",
	"exporter":              "metrics api host client",
	"sibling":               "api",

	// What families of commands share, then the families, then the root, which alone knows all of them.
	"cli/console":  "human api",
	"cli/usage":    "human api",
	"cli/flags":    "fenceagent rules api host lockop mountcfg",
	"cli/lookup":   "human api host client gate/process lease",
	"cli/refusals": "human api host client gate/process",
	"cli/child":    "human api host cli/console cli/usage gate/process",

	"cli/agents":     "human api host client mcp cli/console cli/usage gate gate/process",
	"cli/audit":      "human api host place client cli/console cli/flags cli/usage gate/layout lease/audit",
	"cli/config":     "human rules api host client cli/console cli/flags cli/usage mountcfg",
	"cli/docs":       "api place daemon daemon/logging cli/usage mountcfg",
	"cli/doctor":     "human finding api lockdir doctor cli/console cli/flags cli/usage lease/record",
	"cli/exec":       "human api host client lockop cli/child cli/console cli/flags cli/lookup cli/refusals cli/usage gate gate/process lease",
	"cli/explain":    "human api host place client lockop cli/console cli/flags cli/lookup cli/refusals cli/usage gate gate/process gate/tenure lease lease/record",
	"cli/exporter":   "api daemon/logging daemon/metrics exporter cli/console cli/usage mountcfg",
	"cli/fencecheck": "human fenceagent rules api host cli/console cli/flags cli/usage mountcfg",
	"cli/layout":     "human api host place client cli/console cli/usage gate/layout gate/lockfile lease",
	"cli/lock":       "human api host client lockop cli/console cli/flags cli/lookup cli/usage gate gate/process lease lease/record",
	"cli/mount":      "human rules api host place client lockop recovery daemon daemon/background daemon/logging daemon/servicemanager daemon/storewatch sibling cli/console cli/flags cli/lookup cli/usage fusefs gate gate/layout gate/lockfile gate/process lease lease/etcd mountcfg",
	"cli/quiesce":    "human api client cli/child cli/console cli/flags cli/lookup cli/usage lease",
	"cli/rules":      "human rules learn api host client cli/child cli/config cli/console cli/lookup cli/status cli/usage gate/tenure lease mountcfg",
	"cli/run":        "human changes api host place client cli/console cli/exec cli/lookup cli/mount cli/usage gate gate/process",
	"cli/status":     "human api host client top cli/console cli/usage gate gate/tenure lease",

	"cli": "human rules api host place client lockop daemon/guardian sibling cli/agents cli/audit cli/child cli/config cli/console cli/docs cli/doctor cli/exec cli/explain cli/exporter cli/fencecheck cli/layout cli/lock cli/mount cli/quiesce cli/rules cli/run cli/status cli/usage lease lease/record mountcfg",

	testRoom: "finding lease/record",
}

const insideOf = "cmd/jvsfs/internal/"

// testRoom is the room that tests share: all tests of the command may import it, and nothing else may.
const testRoom = "testkit"

// forTests is what the tests of all may import, the core's too, and nothing else: it is no part of the program.
const forTests = "integration/goroutines"

// Imports point one way: cmd -> its rooms -> fusefs -> gate -> lease; mountcfg and fusefs/transport stand alone.
func TestImportsPointOneWay(t *testing.T) {
	allowed := map[string][]string{
		"lease/record": {}, "lease/audit": {"lease/record"}, "lease": {"lease/audit", "lease/record"}, "lease/repair": {"lease", "lease/record"},
		"lease/etcd": {"lease", "lease/record"}, "mountcfg": {}, "gate/lockfile": {}, "gate/process": {}, "gate/wait": {"gate/process"},
		"gate": {"gate/lockfile", "gate/process", "gate/wait", "lease", "lease/record"}, "gate/layout": {"gate/lockfile", "lease", "lease/record"},
		"gate/tenure": {"gate", "gate/lockfile", "gate/process", "gate/wait", "lease", "lease/record"}, "fusefs/transport": {}, "fusefs/inotify": {}, "fusefs/flock": {"gate/process"},
		"gate/tree": {"gate/layout"}, "gate/engine": {"gate", "gate/layout", "gate/process", "gate/tree"},
		"gate/policy/exempt":    {"gate", "gate/engine", "gate/layout", "gate/tree"},
		"gate/policy/git":       {"gate", "gate/engine", "gate/layout", "gate/process", "gate/tree", "lease"},
		"gate/policy/hardlink":  {"gate", "gate/layout", "gate/tree"},
		"gate/policy/jvs":       {"gate", "gate/engine", "gate/layout", "gate/process", "gate/tree"},
		"gate/policy/lockfiles": {"gate", "gate/engine", "gate/layout", "gate/lockfile", "gate/process", "gate/tenure", "gate/tree", "lease"},
		"fusefs":                {"fusefs/flock", "fusefs/inotify", "fusefs/transport", "gate", "gate/engine", "gate/layout", "gate/lockfile", "gate/policy/exempt", "gate/policy/git", "gate/policy/hardlink", "gate/policy/jvs", "gate/policy/lockfiles", "gate/process", "gate/tenure", "gate/tree", "lease"},
		"cmd/jvsfs":             {insideOf + "cli", insideOf + "cli/exec", insideOf + "api", insideOf + "daemon/metrics", insideOf + "exporter", "lease"}, // all but the first for its tests
	}
	for room, names := range allowedInRooms {
		for name := range strings.FieldsSeq(names) {
			if !slices.Contains(core, name) {
				name = insideOf + name
			}
			allowed[insideOf+room] = append(allowed[insideOf+room], name)
		}
	}
	for _, dir := range rooms(t) {
		require.Contains(t, allowedInRooms, strings.TrimPrefix(dir, insideOf), "say in allowedInRooms what the room may import")
	}
	for dir, may := range allowed {
		t.Run(dir, func(t *testing.T) {
			pkg, err := build.ImportDir(path.Join("../..", dir), 0)
			require.NoError(t, err)
			require.NotContains(t, pkg.Imports, module+"/"+forTests, "only tests import it")
			may = append(may, forTests)
			if strings.HasPrefix(dir, "cmd/jvsfs") {
				may = append(may, insideOf+testRoom)
				require.NotContains(t, pkg.Imports, module+"/"+insideOf+testRoom, "only tests import it")
			}
			for _, imported := range importsOf(t, dir) {
				require.Contains(t, may, imported, "%s imports %s", dir, imported)
			}
			if dir == "cmd/jvsfs" { // the one place where the torture is let in
				may = append(may, "integration/torture/wire")
			}
			for _, imported := range importsOf(t, dir, "jvsfs_torture", "jvsfs_etcd") {
				require.Contains(t, may, imported, "%s imports %s in the complete build for the torture", dir, imported)
			}
		})
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

// Only the complete program has the client of etcd, gRPC and Protocol Buffers.
func TestOnlyTheCompleteProgramHasTheClientOfEtcd(t *testing.T) {
	with := func(client string, args ...string) bool {
		out, err := exec.Command("go", append(append([]string{"list", "-deps"}, args...), ".")...).Output()
		require.NoError(t, err)
		return slices.ContainsFunc(strings.Fields(string(out)), func(name string) bool { return strings.HasPrefix(name, client) })
	}
	for _, client := range []string{"go.etcd.io/", "google.golang.org/grpc", "google.golang.org/protobuf"} {
		require.False(t, with(client), client)
		require.True(t, with(client, "-tags", "jvsfs_etcd"), client)
	}
}

// The command line and the log stay out of the core, input and output out of what is judged by values alone, and etcd's client is one package's.
func TestWhatARoomDoesNotImport(t *testing.T) {
	quiet := []string{"log", "log/slog", "go.uber.org/zap", "github.com/spf13/cobra", "flag"}
	banned := map[string][]string{"gate/layout": {"os"}, "gate/lockfile": {"os"}}
	for _, dir := range core {
		if strings.HasPrefix(dir, "lease") && dir != "lease/etcd" || strings.HasPrefix(dir, "gate") && dir != "gate/tenure" {
			banned[dir] = append(banned[dir], quiet...)
		}
	}
	for _, dir := range append(rooms(t), append(core, "cmd/jvsfs")...) {
		pkg, err := build.ImportDir(path.Join("../..", dir), 0)
		require.NoError(t, err)
		for _, imported := range pkg.Imports {
			require.NotContains(t, banned[dir], imported, dir)
			require.True(t, dir == "lease/etcd" || !strings.HasPrefix(imported, "go.etcd.io/"), "%s imports %s", dir, imported)
		}
	}
}

// Every package below the core's directories is in the table above.
func TestEachPackageOfTheCoreHasItsImportsNamed(t *testing.T) {
	for _, top := range []string{"fusefs", "gate", "lease", "mountcfg"} {
		require.NoError(t, filepath.WalkDir("../../"+top, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || d.Name() == "testdata" {
				return err
			}
			if found, _ := filepath.Glob(dir + "/*.go"); len(found) > 0 {
				require.Contains(t, core, strings.TrimPrefix(dir, "../../"))
			}
			return nil
		}))
	}
}
