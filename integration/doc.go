// Package integration drives the real jvsfs binary over real FUSE mounts and
// compares what happened with a plain directory of the same content.
//
// It has no code of its own, only tests. They need root and /dev/fuse:
//
//	go test ./integration                      everything
//	go test ./integration -run ^TestNative    what needs no binary: rows, digest, actor
//	JVSFS_RACE=1 go test ./integration         the binary under test is built with -race
//	JVSFS_BINARY=/path/jvsfs go test ...       a binary built elsewhere
//	JVSFS_TEST_DIR=/mnt/disk go test ...       where trees are made (not tmpfs)
//	JVSFS_REQUIRE_FUSE=0 go test ...           where there is no /dev/fuse, what mounts is skipped
//
// The words: an actor is a process of its own that does what it is told by
// raw system calls; a row is one way to change a tree; a situation is a way
// of not holding the lease. Every row must be refused in every situation and
// leave no trace, and must do in the hands of the holder exactly what it does
// on a plain directory.
package integration
