package journey

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
