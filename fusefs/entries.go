package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// eachEntry calls do for each entry of an open directory but "." and "..", from where it was read last. It is for directories whose
// listing nobody waits for long: nothing ends it before the last entry.
func eachEntry(fd int, do func(fuse.DirEntry)) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := retryInt(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > 0; {
			e, l := parseDirent(rest)
			if l == 0 {
				break
			}
			if rest = rest[l:]; e.Name != "." && e.Name != ".." {
				do(e)
			}
		}
	}
}
