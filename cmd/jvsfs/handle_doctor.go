package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// answerDoctor checks the lock directory, which the mount may hide from others.
func (d *daemon) answerDoctor(s *session) (response, error) {
	if _, f := authorize(plea{Op: opDoctor, PeerUID: s.peer.UID, MountUID: uint32(os.Geteuid())}); f != nil {
		return response{}, f
	}
	dir := lockDir{path: d.place.LockDir, name: d.place.LockDir}
	if within(d.place.Root, dir.path) {
		dir.path = fmt.Sprintf("/proc/self/fd/%d/%s", d.fs.SourceFD(), relativeTo(d.place.Root, dir.path))
	}
	fix := repair{s.req.Repair, s.req.Force}
	found := checkLockDir(context.Background(), dir, policyOf(d.cfg), fix)
	d.auditRepairs(found)
	return resultOf(append(found, unseenFinding(d.tree, d.place.Root)...))
}

// unseenFinding says that another mount might go unnoticed.
func unseenFinding(l *treeLock, root string) []finding {
	if l.known {
		return []finding{okf("tree.locked", "%s and what lies above it is locked against other records", root)}
	}
	return []finding{warn("tree.unseen", "make sure that nobody mounts "+root+", or a directory above it, with other records",
		"another mount of %s or of a directory above it may go unnoticed: %s", root, strings.ReplaceAll(l.why, "\n", "; "))}
}
