// Stories of who holds: taking, stealing, handing over, losing, and the records of it.
package lease

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
