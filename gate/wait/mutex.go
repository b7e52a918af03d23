package wait

// Mutex is a mutex for which nobody has to wait for ever. NewMutex makes one, and nothing else does. Safe for concurrent use.
type Mutex chan struct{}

// NewMutex makes one that nobody has.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock waits for it.
func (m Mutex) Lock() { m <- struct{}{} }

// TryLock takes it if nobody has it.
func (m Mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// LockOr waits for it, and reports false if off was closed first.
func (m Mutex) LockOr(off <-chan struct{}) bool {
	select {
	case m <- struct{}{}:
		return true
	case <-off:
		return false
	}
}

// Unlock gives it back.
func (m Mutex) Unlock() { <-m }
