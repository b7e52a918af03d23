package etcd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// journal is a store: what was written, in its order.
type journal struct {
	mu             sync.Mutex
	last           lease.Token
	by             string
	writes, epochs int
	changes        int // of host
	stale          []string
}

// write writes once if the fence lets it, as a mutation that begins and ends within one step.
func (j *journal) write(g *gauge, name string, t lease.Token) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !g.open.Load() || int64(g.clock.Boot()) >= g.deadline.Load() {
		return false
	}
	switch j.writes++; {
	case t < j.last || t == j.last && name != j.by:
		j.stale = append(j.stale, fmt.Sprintf("token %d of %s after token %d of %s", t, name, j.last, j.by))
	case t > j.last:
		j.epochs++
		if j.last = t; j.by != name {
			j.changes++
		}
		j.by = name
	}
	return true
}

// holder is the number of the host that has written last.
func (j *journal) holder() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, _ := strconv.Atoi(strings.TrimPrefix(j.by, "host"))
	return n
}

// Hosts write under their leases while their ways to etcd are cut, lose answers and heal, and etcd stops and goes on. No write of a token
// comes after one of a later token. JVSFS_ETCD_SECONDS says for how long, JVSFS_ETCD_SEED with which dice.
func TestChaosNoTokenWritesAfterALaterOne(t *testing.T) {
	span, seed := 15*time.Second, time.Now().UnixNano()
	if n, err := strconv.Atoi(os.Getenv("JVSFS_ETCD_SECONDS")); err == nil {
		span = time.Duration(n) * time.Second
	}
	if n, err := strconv.ParseInt(os.Getenv("JVSFS_ETCD_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d", seed)
	srv, j := startServer(t), &journal{}
	over := make(chan struct{})
	var all sync.WaitGroup
	var ways []*proxy
	for i := range 4 {
		name, way, g := "host"+strconv.Itoa(i), newProxy(t, srv), newGauge()
		ways = append(ways, way)
		k := keeper(t, srv.session(t, func(c *Config) { c.Endpoints = []string{way.url()} }), host(t, name), "main", fenced(g))
		run(t, k)
		dice := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		all.Go(func() {
			for !ended(over) {
				got, err := k.Acquire(t.Context(), who(name, i+1))
				if err != nil {
					time.Sleep(5 * time.Millisecond) // another holds
					continue
				}
				keeps := dice.IntN(2) == 0 // until it is lost, or for a while
				for n := range 20 + dice.IntN(300) {
					if ended(over) || !j.write(g, name, got.Token) && n > 0 {
						break
					}
					if keeps {
						time.Sleep(20 * time.Millisecond) // the pace of writes
					}
				}
				_ = k.ReleaseToken(t.Context(), got.Token, lease.LossReleased)
			}
		})
	}
	dice := rand.New(rand.NewPCG(uint64(seed), 99))
	for end := time.Now().Add(span); time.Now().Before(end); {
		way := ways[dice.IntN(len(ways))]
		lasts := dice.IntN(1500)
		switch dice.IntN(4) {
		case 0:
			way = ways[j.holder()]
			way.cut()
			lasts = 3000 + dice.IntN(3000) // longer than a lease
		case 1:
			way.deafen()
		case 2:
			srv.signal(t, syscall.SIGSTOP)
			time.Sleep(time.Duration(dice.IntN(900)) * time.Millisecond) // as long as it is stopped
			srv.signal(t, syscall.SIGCONT)
		}
		time.Sleep(time.Duration(lasts) * time.Millisecond) // as long as that lasts
		ways[dice.IntN(len(ways))].heal()
		way.heal()
	}
	for _, way := range ways {
		way.heal()
	}
	close(over)
	all.Wait()
	t.Logf("%d epochs, %d changes of host, %d writes, %d stale", j.epochs, j.changes, j.writes, len(j.stale))
	require.Empty(t, j.stale[:min(len(j.stale), 5)])
	require.Positive(t, j.changes)
}

func ended(over chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}
