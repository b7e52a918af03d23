package lockdir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/lease"
)

// Records decide, so it matters who can replace them. In a lock directory of the machine (--control, or the
// default) only root and the daemon's user may be able to; otherwise there is no lease. In a repository the
// owner can, and users whom the owner permits: jvsfs warns of them, and jvsfs-lease(7) says what follows.

// exposedFix is the advice.
const exposedFix = "let only root write there and above (chown root, chmod go-w), or choose another place (--control DIR)"

// RefuseExposed refuses a lock directory of the machine if other users can replace it.
func RefuseExposed(dir string) error {
	found, err := lease.Exposures(dir)
	if err != nil || len(found) == 0 {
		return err
	}
	return &lease.Error{Class: lease.ClassStoreFailed, File: dir, Next: exposedFix,
		Message: fmt.Sprintf("the lock directory is not safe: %s, and so put other lease records in the place of these", found[0])}
}

// OwnerOfRepository is the owner of the directory, or root if that cannot be seen.
func OwnerOfRepository(root string) uint32 {
	var st unix.Stat_t
	if unix.Stat(root, &st) != nil {
		return 0
	}
	return st.Uid
}

// checkExposure says who can replace the records in a lock directory.
func checkExposure(d Dir) []finding.Finding {
	found, err := lease.Exposures(d.Path)
	if err != nil {
		return []finding.Finding{finding.Warn("locks.unseen", "run doctor as root", "%v", err)}
	}
	inRepository := strings.HasSuffix(d.Name, filepath.Join("/.jvs", "locks"))
	owner := uint32(os.Geteuid())
	if inRepository {
		owner = OwnerOfRepository(d.Path + "/../..")
	}
	var out []finding.Finding
	owned := false
	for _, e := range found {
		switch {
		case inRepository && e.Owner && e.UID == owner:
			owned = true
		case inRepository:
			out = append(out, finding.Warn("locks.exposed", "chmod go-w, if that is not meant", "%s: %s, and so forge or remove lease records", d.Name, e))
		default:
			out = append(out, finding.Fail("locks.exposed", exposedFix, "%s: %s, and so forge or remove lease records", d.Name, e))
		}
	}
	if owned {
		return append(out, finding.OK("locks.owner", "%s: the repository is user %d's, who can forge or remove its lease records: leases keep its programs apart, not its owner", d.Name, owner))
	}
	if len(out) == 0 {
		out = append(out, finding.OK("locks.owner", "only root and this user can put other records in the place of %s", d.Name))
	}
	return out
}
