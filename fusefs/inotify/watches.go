package inotify

// Watches says which watch is of what. It is guarded by its owner.
type Watches[N comparable] struct {
	of map[int32]N
	by map[N]int32
}

// NewWatches makes one that is empty.
func NewWatches[N comparable]() Watches[N] {
	return Watches[N]{make(map[int32]N), make(map[N]int32)}
}

// Put notes what a watch is of.
func (w Watches[N]) Put(watch int32, n N) {
	w.Delete(watch)
	delete(w.of, w.by[n]) // it has one
	w.of[watch], w.by[n] = n, watch
}

// Of is what a watch is of.
func (w Watches[N]) Of(watch int32) (n N, known bool) {
	n, known = w.of[watch]
	return n, known
}

// By is the watch of something.
func (w Watches[N]) By(n N) (watch int32, known bool) {
	watch, known = w.by[n]
	return watch, known
}

// Delete forgets a watch.
func (w Watches[N]) Delete(watch int32) {
	if n, known := w.of[watch]; known {
		delete(w.of, watch)
		delete(w.by, n)
	}
}

// Len is how many there are.
func (w Watches[N]) Len() int { return len(w.of) }

// All calls f for all that is watched.
func (w Watches[N]) All(f func(N)) {
	for n := range w.by {
		f(n)
	}
}
