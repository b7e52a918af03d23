// Stories of what the fence lets through, what it refuses, and what a refusal leaves behind.
package fence

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
