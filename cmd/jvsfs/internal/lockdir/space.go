package lockdir

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

// Space that a lock directory needs: a claim is a few hundred bytes, and each grant makes one.
const (
	spaceWanted  = 16 << 20 // bytes
	spaceNeeded  = 1 << 20
	inodesWanted = 1000
	inodesNeeded = 50
)

func checkSpace(d Dir) []finding.Finding {
	var st unix.Statfs_t
	if err := unix.Statfs(d.Path, &st); err != nil {
		return []finding.Finding{finding.Warn("locks.denied", "run doctor as root", "statfs %s: %v", d.Name, err)}
	}
	return spaceFindings(d.Name, st)
}

// spaceFindings judges free space and free inodes. A file system without a fixed number of inodes says 0.
func spaceFindings(name string, st unix.Statfs_t) []finding.Finding {
	free := st.Bfree * uint64(st.Bsize) // the daemon can use the space that is reserved for root
	var out []finding.Finding
	const fix = "make room on the file system"
	message := fmt.Sprintf("%s has %d KiB left", name, free>>10)
	switch {
	case st.Blocks == 0: // the file system does not count blocks
	case free < spaceNeeded:
		out = append(out, finding.Fail("locks.space", fix, "%s", message))
	case free < spaceWanted:
		out = append(out, finding.Warn("locks.space", fix, "%s", message))
	default:
		out = append(out, finding.OK("locks.space", "%s", message))
	}
	switch {
	case st.Files == 0:
	case st.Ffree < inodesNeeded:
		out = append(out, finding.Fail("locks.inodes", "remove files from the file system", "%s has %d inodes left", name, st.Ffree))
	case st.Ffree < inodesWanted:
		out = append(out, finding.Warn("locks.inodes", "remove files from the file system", "%s has %d inodes left", name, st.Ffree))
	}
	return out
}
