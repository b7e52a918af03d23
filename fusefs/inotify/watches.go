package inotify

// Watches says which watch is of what. It is guarded by its owner.
type Watches[N comparable] struct {
	Of map[int32]N // what a watch is of; to read
	By map[N]int32 // the watch of something; to read
}

// NewWatches makes one that is empty.
func NewWatches[N comparable]() Watches[N] {
	return Watches[N]{make(map[int32]N), make(map[N]int32)}
}

// Put notes what a watch is of.
func (w Watches[N]) Put(watch int32, n N) {
	w.Delete(watch)
	delete(w.Of, w.By[n]) // it has one
	w.Of[watch], w.By[n] = n, watch
}

// Delete forgets a watch.
func (w Watches[N]) Delete(watch int32) {
	if n, known := w.Of[watch]; known {
		delete(w.Of, watch)
		delete(w.By, n)
	}
}

// Len is how many there are.
func (w Watches[N]) Len() int { return len(w.Of) }

// All calls f for all that is watched.
func (w Watches[N]) All(f func(N)) {
	for n := range w.By {
		f(n)
	}
}
