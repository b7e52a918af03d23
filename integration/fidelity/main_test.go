// Stories of a mount beside a plain directory: a process that may write sees no difference.
package fidelity

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
