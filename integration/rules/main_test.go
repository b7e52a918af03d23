// Stories of programs that have lock files of their own: what they do to each other in a plain directory, and that it
// cannot happen where jvsfs knows their rules.
//
// Each story is told twice. Natively it must show its hole: that proves the story. With the rule of the program it must
// not, and what each process was answered is compared word by word.
package rules

import (
	"os"
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(contenderVar); what != "" {
		contend(what)
	}
	harness.Main(m)
}
