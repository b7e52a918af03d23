// Stories of the fence: which writes pass, which are refused, and that a refusal leaves no trace.
package fence

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
