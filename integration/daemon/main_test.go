// Stories of the daemon: its life, its end, what comes after, and what it tells.
package daemon

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
