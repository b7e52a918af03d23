package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// taken are the leases that this server acquired, to be given back at its end. Calls come at the same time.
type taken struct {
	mu     sync.Mutex
	leases map[takenKey]takenLease
}

// takenKey names a worktree by its place. A replacement or a recovery gives the mount another device.
type takenKey struct {
	source   string
	worktree lease.WorktreeID
}

type takenLease struct {
	t      client.Target
	token  lease.Token
	holder string
}

func keyOf(t client.Target, id lease.WorktreeID) takenKey {
	return takenKey{t.Mount.Source, id}
}

func (k *taken) add(key takenKey, l takenLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leases == nil {
		k.leases = map[takenKey]takenLease{}
	}
	k.leases[key] = l
}

func (k *taken) remove(key takenKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.leases, key)
}

func (k *taken) all() (all []takenLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.leases {
		all = append(all, l)
	}
	return all
}

// holders are the ids under which leases were taken.
func (k *taken) holders() (ids []string) {
	for _, l := range k.all() {
		ids = append(ids, l.holder)
	}
	return ids
}

// releasePatience bounds the end of a server. A holder that has ended loses its lease anyway.
const releasePatience = 5 * time.Second

// releaseAll gives back what was taken, and is still held.
func (s *server) releaseAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
	defer cancel()
	var errs []error
	for _, l := range s.taken.all() {
		t, err := servedNow(ctx, l.t)
		if err == nil && t.Mount != nil { // an unmount has released it
			err = s.giveBack(ctx, t, l.token)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// servedNow is where what was taken is served by now, without a Mount if nowhere. The mount may have been replaced or recovered since
// then, and the lease lives on with its token.
func servedNow(ctx context.Context, was client.Target) (client.Target, error) {
	now, err := lookUp(ctx, was.Path)
	if err == nil && now.Mount != nil && now.Mount.Source == was.Mount.Source {
		return now, nil
	}
	mounts, read := host.ReadMounts()
	if mounts.Has(host.DeviceOf(was.Mount)) { // another mount covers it
		return was, nil
	}
	return client.Target{}, errors.Join(err, read)
}

// giveBack releases one lease, if it is still the current one.
func (s *server) giveBack(ctx context.Context, t client.Target, token lease.Token) error {
	who, pidfd := s.asHolder()
	_, err := client.Ask(ctx, t.Mount, api.Release{Holding: api.Holding{Where: api.Where{Path: t.Rel}, Process: who, Token: token}}, pidfd, nil)
	if f := api.AsFailure(err); f != nil && (f.Class == lease.ClassLockNotHeld || f.Class == lease.ClassFencingMismatch) {
		return nil
	}
	return err
}
