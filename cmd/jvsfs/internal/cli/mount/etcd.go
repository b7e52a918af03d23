//go:build jvsfs_etcd

package mount

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/etcd"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// enter is for the ordinary program (mount_etcd_off.go). This is the complete one, if it is the one that was meant.
func (m *mountCommand) enter(mountcfg.Config) error { return m.started.Confirm() }

// authoritiesOf opens the session with the configured etcd.
func authoritiesOf(cfg mountcfg.Config) func(context.Context) (daemon.Authorities, error) {
	return func(ctx context.Context) (daemon.Authorities, error) {
		e := cfg.Etcd
		s, err := etcd.Open(ctx, etcd.Config{Endpoints: e.List(), Prefix: e.Prefix, CA: e.CA, Cert: e.Cert, Key: e.Key, User: e.User,
			PasswordFile: e.PasswordFile, Policy: lockop.PolicyOf(cfg), Clock: lease.SystemClock()})
		if err != nil {
			return nil, err // not an Authorities that holds a nil *etcd.Session
		}
		return s, nil
	}
}
