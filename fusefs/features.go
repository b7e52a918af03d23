package fusefs

import (
	"fmt"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Features are what the kernel's FUSE client said of itself when the mount was made. The JSON names
// are the kernel's, and stable.
type Features struct {
	Protocol     string `json:"protocol"`             // "7.45"; "" before the first exchange
	MapsDirect   bool   `json:"direct_io_allow_mmap"` // a file open for writing can be mapped (Linux 6.6)
	Expires      bool   `json:"expire_only"`          // long caching can be ended (Linux 6.2)
	Prunes       bool   `json:"notify_prune"`         // the kernel can be asked to forget inodes (Linux 6.18)
	KillsPriv    bool   `json:"handle_killpriv_v2"`   // setuid is cleared with the write (Linux 5.11)
	ExtendsXattr bool   `json:"setxattr_ext"`         // clearing setgid with an ACL (Linux 5.13)
}

// Features returns what the kernel said.
func (s *Server) Features() Features {
	hello := s.fs.kernel.Hello
	if hello.Major == 0 {
		return Features{}
	}
	flags := hello.Flags64()
	return Features{
		Protocol:     fmt.Sprintf("%d.%d", hello.Major, hello.Minor),
		MapsDirect:   flags&fuse.CAP_DIRECT_IO_ALLOW_MMAP != 0,
		Expires:      s.fs.kernel.CanExpire(),
		Prunes:       hello.SupportsNotify(fuse.NOTIFY_PRUNE),
		KillsPriv:    flags&fuse.CAP_HANDLE_KILLPRIV_V2 != 0,
		ExtendsXattr: flags&fuse.CAP_SETXATTR_EXT != 0,
	}
}
