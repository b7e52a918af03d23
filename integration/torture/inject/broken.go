//go:build jvsfs_torture

package inject

import (
	"os"
	"slices"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

var broken = os.Getenv(plan.BrokenEnv)

// Broken reports whether this process is one of the mutants. Only the code that is laid over the source asks.
func Broken(mutants ...string) bool { return slices.Contains(mutants, broken) }
