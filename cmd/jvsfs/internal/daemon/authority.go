package daemon

import (
	"context"
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// Authorities keeps the leases of a mount outside of its lock directory.
type Authorities interface {
	Authority(*lease.Store) lease.Authority
	Name() string // for people
	Counts() lease.RemoteCounts
	Close() error // after the keepers
}

// openAuthority asks who says whose turn it is: the lock directory must name the same as the configuration, for two authorities of one
// directory would let two hosts write.
func (d *Daemon) openAuthority() error {
	d.far = lease.SharedStore(d.locks.FD())
	if mounts, err := host.ReadMounts(); err == nil { // before anything is mounted over them
		d.store = lockop.StoreOf(d.place, mounts, d.cfg)
	}
	want := ""
	if len(d.cfg.Etcd.List()) > 0 {
		want = lockdir.EtcdAuthority(d.cfg.Etcd.Prefix)
	}
	said, err := d.locks.Authority()
	if err == nil && said == "" && want != "" {
		said, err = d.locks.Name(want)
	}
	if err != nil {
		return err
	}
	if said != want {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("the leases of %s are kept %s, but the configuration says: %s", d.place.Root, human.Printable(lockdir.AuthorityText(said)), lockdir.AuthorityText(want)),
			Next: fmt.Sprintf("configure all hosts alike; to change it: umount on every host, remove %s/authority, and mount again", d.place.LockDir)}
	}
	if want == "" {
		return nil
	}
	d.locks.Govern()
	d.far = true // it is on another machine, and may not answer
	d.authority, err = d.authorities(context.Background())
	return err
}

// authorityOf is nil where the claims of the lock directory decide.
func (d *mount) authorityOf(store *lease.Store) lease.Authority {
	if d.authority == nil {
		return nil
	}
	return d.authority.Authority(store)
}
