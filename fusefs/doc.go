// Package fusefs is the file system and nothing else: a passthrough of one
// directory over go-fuse's raw interface, in which every call that can change
// the backing store asks a gate.Guard first.
//
// A mutating handler reads: ask the gate, resolve to a directory descriptor and a
// name, make one *at call, map the errno. No handler reasons about leases.
//
// Package transport brings the requests. Some it decodes itself, and go-fuse the others. Both ways end in the same methods
// of rawFS, so there is one way to the gate (TestDecodedRequestsReachTheMethodOfTheTable, TestEveryRawMethodIsClassified).
//
// The kernel is told to keep nothing that could reach the backing store behind
// the daemon's back: files that can be written are opened with direct I/O, there
// is no write-back cache and no passthrough, so every byte arrives as a WRITE
// request, stores through shared mappings too.
//
// Which guard stands over a place gate/layout says. Each inode remembers what it said (place.go). A change is admitted in
// one loop (begin.go): it asks the gates, takes what it needs in the order of engine.Rank, looks again, and asks the policies that
// the mount has (gate/policy).
//
// Where anybody may write (Options.Exempt) the gate is told the place of a mutation as
// the backing file system tells it of the inode (gate/policy/exempt).
//
// Callers' flock and byte-range locks are taken on the backing file (package flock), so that they hold
// between mounts and with native processes.
//
// What the package does not do: it cannot see what happens to the backing directory
// other than through itself beyond the cache times in caching.go.
package fusefs
