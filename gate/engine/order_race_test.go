//go:build race

package engine

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A build with the race detector notices whoever takes something out of order.
func TestTheOrderIsChecked(t *testing.T) {
	was := outOfOrder
	outOfOrder = func(what string) { panic(what) }
	defer func() { outOfOrder = was }()
	var l, other sync.RWMutex
	for name, wrong := range map[string]func(*Held){
		"a gate while a repository is held":     func(h *Held) { h.Take(Repository, &l, false); h.Reach(Gates) },
		"the moves while snapshots are held":    func(h *Held) { h.Take(Snapshots, &l, false); h.Reach(Moves) },
		"a repository while snapshots are held": func(h *Held) { h.Take(Snapshots, &l, false); h.Take(Repository, &other, false) },
		"alone what is held with others":        func(h *Held) { h.Take(Snapshots, &l, false); h.Take(Snapshots, &l, true) },
	} {
		t.Run(name, func(t *testing.T) {
			var h Held
			defer h.Release()
			require.Panics(t, func() { wrong(&h) })
		})
	}
	var h Held
	for range 2 { // a permit that was given up begins anew
		require.NotPanics(t, func() { h.Reach(Gates); h.Reach(Gates); h.Reach(Moves); h.Take(Snapshots, &l, true) })
		h.Release()
	}
}
