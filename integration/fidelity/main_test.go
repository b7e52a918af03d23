// Stories of a mount beside a plain directory: whoever may write sees no difference.
package fidelity

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
