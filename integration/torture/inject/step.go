//go:build jvsfs_torture

package inject

import (
	"runtime"
	"strings"
)

// steps are the functions of the lease that give a system call its meaning, the innermost that is found counts.
var steps = []struct{ function, step string }{
	{"(*claim).publish", "publish"},
	{"(*claim).withdraw", "release"},
	{"(*claim).markReleased", "release"},
	{"(*renewal).renew", "renew"},
	{"(*Store).bear", "claim"},
	{"(*claim).link", "claim"},
}

// during puts before op the step of the protocol that it is part of: a claim, a renewal and a release write a record by the
// same lines. The callers tell them apart, so that the lease need not know that it is watched.
func during(op string) string {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		for _, s := range steps {
			if strings.HasSuffix(f.Function, "lease."+s.function) {
				return s.step + "." + op
			}
		}
		if !more {
			return op
		}
	}
}
