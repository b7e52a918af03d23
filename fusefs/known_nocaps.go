package fusefs

import "math"

// The kernel asks for the capabilities of a file before each chown and each truncation (notify_change, fs/attr.c), and never remembers the
// answer. On a FUSE store that is one more request. A file that was made under the lease has none as long as the lease lasts and nobody
// sets any through the mount. If somebody does past it, the kernel below removes them as it does for whom jvsfs is not there.

// madeFile notes that a file was just made, under a lease that had not ended after so many others.
func (f *rawFS) madeFile(id, losses uint64) {
	if !f.syncs {
		return
	}
	if n := f.nodes.get(id); n != nil {
		n.noCaps.CompareAndSwap(0, losses+1)
	}
}

// mayHaveCaps says that a file may have capabilities from now on. Somebody else may have found it while it was made.
func (n *node) mayHaveCaps() { n.noCaps.Store(math.MaxUint64) }

// hasNoCaps reports whether it is known that a file has no capabilities.
func (f *rawFS) hasNoCaps(n *node) bool { return n.noCaps.Load() == f.losses.Load()+1 }
