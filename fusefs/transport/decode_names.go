package transport

// nameCache are the names of a reader's last requests. Handlers may keep a name, so it must not lie in the memory of a
// request. But callers ask for the same names again and again: it need not be made anew each time.
type nameCache [namesMax]string

// namesMax is small: a reader's names take at most 16 KiB (NAME_MAX).
const namesMax = 64

// of returns a name as a string of its own.
func (q *nameCache) of(name []byte) string {
	if len(name) > 255 { // the kernel sends none
		return string(name)
	}
	hash := uint32(2166136261) // FNV-1a
	for _, b := range name {
		hash = (hash ^ uint32(b)) * 16777619
	}
	slot := &q[hash%namesMax]
	if *slot != string(name) {
		*slot = string(name)
	}
	return *slot
}
