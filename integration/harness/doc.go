// Package harness is what the stories of integration/ share. It builds the real
// jvsfs binary, mounts, starts actors, and compares what happened with a plain
// directory of the same content. The stories stand beside it, by theme:
//
//	fence     which writes pass, which are refused, what a refusal leaves behind
//	lease     who holds: take, steal, hand over, lose, and the records of it
//	daemon    mount, recover, replace, end; what the daemon tells and audits
//	fidelity  a mount beside a plain directory: no difference for who may write
//	tools     git, vim, SQLite, LMDB, node, compilers, which know of no leases
//	git       several checkouts of one git repository: who may write what of what they share
//	rules     programs with lock files of their own: what they do to each other, and that a rule ends it
//	service   mount(8), systemd, manual pages, completions
//
// They need root and /dev/fuse:
//
//	go test ./integration/...                        everything
//	go test ./integration/lease                      one theme
//	go test ./integration/fence -run ^TestNative     what needs no binary: rows, digest, actor
//	JVSFS_RACE=1 go test ./integration/...           the binary under test is built with -race
//	JVSFS_BINARY=/path/jvsfs go test ...             a binary built elsewhere
//	JVSFS_GIT_NATIVE=1 go test ./integration/git     the stories of git without a mount: is it the story?
//	JVSFS_COMMITS=200 go test ./integration/git      so many commits of each of eight agents
//	JVSFS_TEST_DIR=/mnt/disk go test ...             where trees are made (not tmpfs)
//	JVSFS_TEST_KEEP=/mnt/disk go test ...            where the whole log and the long outputs of tests that failed are kept
//	JVSFS_TEST_TRANSPORT=uring go test ...           how the mounts get their requests (scripts/uring-test.sh)
//	JVSFS_TEST_SLOWER=10 go test ...                 leases last so often as long, and so does every wait: for an emulated machine
//	JVSFS_REQUIRE_FUSE=0 go test ...                 where there is no /dev/fuse, all of it is left out
//
// A test that failed shows, on one screen, its name in words, what its mounts are and
// did last, the daemon's log, and the command that repeats it alone (failure.go).
//
// The words: an operation is what anybody can be told to do (integration/operation
// has them all); an actor is a process of its own that does what it is told by
// raw system calls; a row is one way to change a tree; a situation is a way
// of not holding the lease. Every row must be refused in every situation and
// leave no trace, and must do in the hands of the holder exactly what it does
// on a plain directory.
//
// No story asserts what the machine's speed decides. It waits for what the
// program says (status, an event of watch, a record, a line of the log), for
// [Patience] at most, which only a hang uses up. It may demand that something
// took long enough, by a clock that began before it, and never that it was
// soon enough: that is the benchmark's. Where the program itself gives up after
// a time, the story is tried again until it was in time once.
//
// A story passes beside a copy of itself. Mounts, processes and /run/jvsfs are
// those of its namespaces. Cgroups, ports, loop devices, the numbers of devices
// and limits of a user are the machine's: it takes what is free.
package harness
