package main

import "slices"

// fileLockMutations break what forwarding a caller's file locks to the backing file promises. No rule of the lease is concerned.
var fileLockMutations = slices.Concat(
	in("fusefs/flock/owner.go", mutation{
		What: "a file lock stays in this daemon, and nobody else meets it",
		Old:  "F_OFD_SETLK, &l) }); err != nil {\n		return blocked(err)\n", New: "F_GETFD, &l) }); false {\n		return blocked(err)\n",
		Tests: []string{"TestASharedLockIsWidenedWithoutOpeningForWriting"},
	}, mutation{
		What: "a wider description does not take over the locks of the narrow one",
		Old:  "for _, s := range o.spans {", New: "for _, s := range o.spans[:0] {",
		Tests: []string{"TestASharedLockIsWidenedWithoutOpeningForWriting"},
	}, mutation{
		What: "who has the number of a closed file has its file lock, too",
		Old:  "return r.Flock && !known", New: "return false && !known",
		Tests: []string{"TestLocksOfANewFileWithAReusedNumberStay"},
	}),
	in("fusefs/flock/table.go", mutation{
		What: "a process that closes the file keeps its file locks",
		Old:  "if o := t.owners[Owner{File: file, Number: number}]; o != nil {", New: "if o := t.owners[Owner{File: file, Number: number}]; false {",
		Tests: []string{"TestASharedLockIsWidenedWithoutOpeningForWriting", "TestLocksAreBounded"},
	}, mutation{
		What: "a file that nobody has open any more stays locked",
		Old:  "if len(o.via) == 1 || o.leave(open) != nil {", New: "if false {",
		Tests: []string{"TestOwnersOfLocksThatEndLeaveNothing"},
	}, mutation{
		What: "with one open file go the file locks that came through another",
		Old:  "if len(o.via) == 1 || o.leave(open) != nil {", New: "if true {",
		Tests: []string{"TestLocksOfANewFileWithAReusedNumberStay"},
	}, mutation{
		What: "one user may have all descriptors for file locks",
		Old:  "int64(u.descriptors) >= t.max/2 && r.UID != 0", New: "false",
		Tests: []string{"TestLocksAreBounded"},
	}),
	in("fusefs/flock/span.go", mutation{
		What: "a shared file lock is in nobody's way",
		Old:  "(s.Kind == unix.F_WRLCK || o.Kind == unix.F_WRLCK)", New: "(s.Kind == unix.F_WRLCK && o.Kind == unix.F_WRLCK)",
		Tests: []string{"TestLockSpans"},
	}),
)
