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
	d.has.far = lease.SharedStore(d.has.locks.FD())
	if mounts, err := host.ReadMounts(); err == nil { // before anything is mounted over them
		d.has.store = lockop.StoreOf(d.given.place, mounts, d.given.cfg)
	}
	want := ""
	if len(d.given.cfg.Etcd.List()) > 0 {
		want = lockdir.EtcdAuthority(d.given.cfg.Etcd.Prefix)
	}
	said, err := d.has.locks.Authority()
	if err == nil && said == "" && want != "" {
		said, err = d.has.locks.Name(want)
	}
	if err != nil {
		return err
	}
	if said != want {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("the leases of %s are kept %s, but the configuration says: %s", d.given.place.Root, human.Printable(lockdir.AuthorityText(said)), lockdir.AuthorityText(want)),
			Next: fmt.Sprintf("configure all hosts alike; to change it: umount on every host, remove %s/authority, and mount again", d.given.place.LockDir)}
	}
	if want == "" {
		return nil
	}
	d.has.locks.Govern()
	d.has.far = true // it is on another machine, and may not answer
	d.has.authority, err = d.given.out.Authorities(context.Background())
	return err
}

// authorityOf is nil where the claims of the lock directory decide.
func (d *Daemon) authorityOf(store *lease.Store) lease.Authority {
	if d.has.authority == nil {
		return nil
	}
	return d.has.authority.Authority(store)
}
