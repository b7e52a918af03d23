package gate

import (
	"context"
	"sync"

	"github.com/jvsfs/jvsfs/lease"
)

// hooks are told about a guard's epochs. They are added at any time and run without a lock.
type hooks struct {
	adding    sync.Mutex
	onClose   []func(lease.Loss)
	onYield   []func(context.Context) error
	onDrained []func()
}

// OnClose adds a hook that Close and Open run after an epoch has drained and before the next one
// opens. The file system drops the kernel's caches there.
func (h *hooks) OnClose(hook func(lease.Loss)) {
	h.adding.Lock()
	defer h.adding.Unlock()
	h.onClose = append(h.onClose, hook)
}

// OnYield adds a hook that runs first while the epoch is still open: in Close if the lease is given
// back in peace, and in Freeze before a handover. There the file system lets the kernel write back
// what the holder has stored through mappings. The error is that of the context.
func (h *hooks) OnYield(hook func(context.Context) error) {
	h.adding.Lock()
	defer h.adding.Unlock()
	h.onYield = append(h.onYield, hook)
}

// OnDrained adds a hook that Close runs after an epoch has drained, before those of OnClose. There the file system brings to the store
// what the store's client may still keep.
func (h *hooks) OnDrained(hook func()) {
	h.adding.Lock()
	defer h.adding.Unlock()
	h.onDrained = append(h.onDrained, hook)
}

func (h *hooks) runDrained() {
	h.adding.Lock()
	all := h.onDrained
	h.adding.Unlock()
	for _, hook := range all {
		hook()
	}
}

func (h *hooks) runClose(l lease.Loss) {
	h.adding.Lock()
	all := h.onClose
	h.adding.Unlock()
	for _, hook := range all {
		hook(l)
	}
}

func (h *hooks) runYield(ctx context.Context) error {
	h.adding.Lock()
	all := h.onYield
	h.adding.Unlock()
	return run(ctx, all)
}
