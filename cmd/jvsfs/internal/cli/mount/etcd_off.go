//go:build !jvsfs_etcd

package mount

import (
	"context"
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/background"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// enter lets the complete program take the place of this one if the leases are to be in etcd. It is the only way there. What comes before
// it only reads. A daemon keeps the descriptor on which somebody waits for it.
func (m *mountCommand) enter(cfg mountcfg.Config) error {
	if len(cfg.Etcd.List()) == 0 {
		return nil
	}
	var keep []int
	if m.background {
		keep = append(keep, background.ReadyFD)
	}
	f := api.AsFailure(m.started.Enter(keep...))
	f.Message = fmt.Sprintf("the leases are to be kept in etcd (%s): %s", cfg.EtcdWhere(), f.Message)
	return f
}

// authoritiesOf has none: a configuration that names one has led elsewhere before anything was mounted.
func authoritiesOf(mountcfg.Config) func(context.Context) (daemon.Authorities, error) {
	return func(context.Context) (daemon.Authorities, error) {
		return nil, &api.Failure{Class: api.ClassUsage, Message: "this jvsfs was built without etcd"}
	}
}
