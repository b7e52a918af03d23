// Stories of the daemon: its life, its end, its successors, and its reports.
package daemon

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
