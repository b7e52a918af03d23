package main

import (
	"go/build"
	"io/fs"
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

// Imports point one way: cmd -> fusefs -> gate -> lease; mountcfg stands alone.
func TestImportsPointOneWay(t *testing.T) {
	allowed := map[string][]string{
		"lease":     {},
		"mountcfg":  {},
		"gate":      {"lease"},
		"fusefs":    {"gate", "lease"},
		"cmd/jvsfs": {"fusefs", "gate", "lease", "mountcfg"},
	}
	for dir, may := range allowed {
		t.Run(dir, func(t *testing.T) {
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
func TestNobodyInjectsButTheTorture(t *testing.T) {
	injecting := regexp.MustCompile(`\b(lease\.Inject|fusefs\.InjectAdmitted)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../../integration/torture/wire/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			require.NotRegexp(t, injecting, string(text), path)
		}
		return err
	})
	require.NoError(t, err)
}

// The command line, the log and the configuration stay out of the core.
func TestCoreDoesNotLogOrParseFlags(t *testing.T) {
	for _, dir := range []string{"lease", "gate"} {
		pkg, err := build.ImportDir(path.Join("../..", dir), 0)
		require.NoError(t, err)
		for _, banned := range []string{"log", "log/slog", "go.uber.org/zap", "github.com/spf13/cobra", "flag"} {
			require.NotContains(t, pkg.Imports, banned, dir)
		}
	}
}
