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

func authorityAt(d Dir) (string, error) {
	dir, err := d.open()
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
	return append(append([]finding.Finding{governedTier(d, said)}, checkSpace(d)...), checkTaints(d)...)
}

// governedTier says what etcd makes of the tier. Only a daemon knows whether it has a fence agent.
func governedTier(d Dir, said string) finding.Finding {
	const next = "read jvsfs-hosts(7); a fence agent on every host makes it tier B: jvsfs-fence(7)"
	switch {
	case d.Store == nil || d.Store.Authority == "":
		return finding.Warn("tier.etcd", next+"; jvsfs doctor on the mountpoint knows whether this host has one",
			"the leases of %s are kept %s: tier C where a mount has no fence agent; tokens never double, but a write that a silent host sends late may land; jvsfs status says who holds", d.Name, AuthorityText(said))
	case d.Store.Tier == "B":
		return finding.OK("tier.etcd", "%s: %s", d.Name, d.Store.Text())
	}
	return finding.Warn("tier.etcd", next, "%s: %s", d.Name, d.Store.Text())
}
