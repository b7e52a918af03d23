// Stories of several checkouts of one git repository: who may write what in the directory
// that they share, and that git, which knows nothing of leases, is refused nothing that is
// its own.
//
// With JVSFS_GIT_NATIVE=1 the stories run without a mount, to see whether it is the story
// that is wrong; what would be refused is left out then.
package git

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
