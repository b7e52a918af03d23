package main

import (
	"go/build"
	"path"
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
			pkg, err := build.ImportDir(path.Join("../..", dir), 0)
			require.NoError(t, err)
			for _, imported := range slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports) {
				if rest, ours := strings.CutPrefix(imported, module+"/"); ours && rest != dir {
					require.Contains(t, may, rest, "%s imports %s", dir, rest)
				}
			}
		})
	}
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
