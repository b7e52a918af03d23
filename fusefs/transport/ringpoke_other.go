//go:build !amd64

package transport

import "golang.org/x/sys/unix"

const canUstat = false

func ustat(uint64) unix.Errno { return unix.ENOSYS }
