// Stories of what surrounds the program: mount(8), systemd, manual pages, completions.
package service

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
