// Command jvsfs mounts a JVS repository, one of its worktrees or any other
// directory so that only the holder of the lease can write below it.
//
// Its commands are below internal/cli, a package for each family; internal/cli/doc.go says where each is. A command about a mount asks the
// daemon of that mount over a unix socket (internal/client, internal/api). A command about a directory that is not mounted works on the
// lease records itself (internal/lockop). imports_test.go says which room may import which. The tests here look at the whole tree.
//
// The exit codes (internal/api/exit.go), the error classes and the JSON that the commands print are a promise.
// The text for people is not.
package main
