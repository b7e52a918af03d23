package gate

import "sync"

// herald tells all who wait that something has happened. The zero value is ready. Safe for
// concurrent use.
type herald struct {
	mu   sync.Mutex
	word chan struct{} // nil: nobody waits
}

// next returns a channel that is closed when it happens the next time.
func (h *herald) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.word == nil {
		h.word = make(chan struct{})
	}
	return h.word
}

func (h *herald) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.word != nil {
		close(h.word)
		h.word = nil
	}
}
