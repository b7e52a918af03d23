package lockdir

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/lease"
)

const etcdAuthority = "etcd "

// EtcdAuthority is what a lock directory says whose leases are in etcd below a prefix.
func EtcdAuthority(prefix string) string { return etcdAuthority + prefix + "\n" }

// AuthorityText is where the leases are kept, for people.
func AuthorityText(said string) string {
	if said == "" {
		return "in the lock directory"
	}
	if prefix, ok := strings.CutPrefix(said, etcdAuthority); ok {
		return "in etcd, prefix " + strings.TrimSpace(prefix)
	}
	return fmt.Sprintf("%q", said)
}

// RefuseGoverned refuses what works on the records of a lock directory if they are kept elsewhere: only a mount can ask there.
func RefuseGoverned(dir *lease.Dir) error {
	said, err := dir.Authority()
	if err != nil || said == "" {
		return err
	}
	return &api.Failure{Class: lease.ClassStoreFailed, Message: fmt.Sprintf("the leases of this directory are kept %s: only a mount can take, renew, release or show them", AuthorityText(said)),
		Next: "jvsfs mount, with the etcd_* keys of its configuration"}
}

func authorityAt(path string) (string, error) {
	dir, err := lease.OpenDir(path)
	if err != nil {
		return "", err
	}
	defer dir.Close() //nolint:errcheck // only read from
	return dir.Authority()
}

// governedFindings are about a lock directory that has the gate, taints and views, and no claims. Nothing is repaired there: it is
// etcd's to say who holds.
func governedFindings(d Dir, said string, err error) []finding.Finding {
	if err != nil {
		return []finding.Finding{finding.Fail("authority.unreadable", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	out := []finding.Finding{finding.Warn("tier.etcd", "read jvsfs-hosts(7); a fence agent on every host makes it tier B: jvsfs-fence(7)",
		"the leases of %s are kept %s: tier C; tokens never double, but a write that a silent host sends late may land; jvsfs status says who holds", d.Name, AuthorityText(said))}
	return append(append(out, checkSpace(d)...), checkTaints(d)...)
}
