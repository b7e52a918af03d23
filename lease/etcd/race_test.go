package etcd

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// Eight hosts race for the lease. Each has a session, a lock directory and a gate of its own: only etcd stands between them.
// JVSFS_ETCD_GRANTS says for how many grants.
func TestEightHostsRaceAndNoTokenIsGrantedTwice(t *testing.T) {
	grants := 200
	if n, err := strconv.Atoi(os.Getenv("JVSFS_ETCD_GRANTS")); err == nil {
		grants = n
	}
	srv := startServer(t)
	shared := quickDir(t)
	var mu sync.Mutex
	owner := map[lease.Token]string{}
	held := 0 // how many hold at this moment
	var all sync.WaitGroup
	for i := range 8 {
		name := "host" + strconv.Itoa(i)
		dir := governed(t, filepath.Join(shared, name))
		k := keeper(t, srv.session(t), dir, "main")
		all.Go(func() {
			for {
				g, err := k.Acquire(t.Context(), who(name, i+1))
				mu.Lock()
				if err == nil {
					if was, twice := owner[g.Token]; twice {
						t.Errorf("token %d was granted to %s and to %s", g.Token, was, name)
					}
					owner[g.Token] = name
					if held++; held != 1 {
						t.Errorf("%d hold at once", held)
					}
				}
				over := len(owner) >= grants || t.Failed()
				mu.Unlock()
				if err == nil {
					mu.Lock()
					held-- // from here on the next one may come
					mu.Unlock()
				}
				if err == nil {
					err = k.Release(t.Context(), lease.LossReleased)
					if err != nil && lease.ClassOf(err) != lease.ClassStoreFailed { // etcd was slow: the session releases it
						t.Errorf("%s cannot release: %v", name, err)
					}
				}
				if over {
					return
				}
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, len(owner), grants)
	winners := map[string]int{}
	for _, name := range owner {
		winners[name]++
	}
	t.Logf("%d grants, by host %v", len(owner), winners)
	require.Greater(t, len(winners), 1, "nobody raced")
}
