package transport

// The kernel's numbers of operations that are known here (enum fuse_opcode of linux/fuse.h).
const (
	opLookup          = 1
	opForget          = 2
	opGetAttr         = 3
	opSetAttr         = 4
	opReadlink        = 5
	opSymlink         = 6
	opMknod           = 8
	opMkdir           = 9
	opUnlink          = 10
	opRmdir           = 11
	opRename          = 12
	opLink            = 13
	opOpen            = 14
	opRead            = 15
	opWrite           = 16
	opStatFs          = 17
	opRelease         = 18
	opFsync           = 20
	opSetXAttr        = 21
	opGetXAttr        = 22
	opListXAttr       = 23
	opRemoveXAttr     = 24
	opFlush           = 25
	opInit            = 26
	opOpenDir         = 27
	opReadDir         = 28
	opReleaseDir      = 29
	opFsyncDir        = 30
	opGetLk           = 31
	opSetLk           = 32
	opSetLkw          = 33
	opAccess          = 34
	opCreate          = 35
	opInterrupt       = 36
	opIoctl           = 39
	opBatchForget     = 42
	opFallocate       = 43
	opReadDirPlus     = 44
	opRename2         = 45
	opLseek           = 46
	opCopyFileRange   = 47
	opSyncFS          = 50
	opTmpfile         = 51
	opStatx           = 52
	opCopyFileRange64 = 53

	operationsMax = 64 // all of their numbers are below
)

// operation is what is known here of an operation of the kernel's.
type operation struct {
	method   string // of fuse.RawFileSystem that it comes to, "" if there is none. Requests are counted by it
	kind     kind   // what it may wait for
	unwaited bool   // nobody waits for its answer
	decoding decoding
}

// operations is the one table of them, by their numbers. Those without an entry go-fuse handles or refuses, and they are
// counted together. What changes something, or makes it durable, is a mutation.
var operations = [operationsMax]operation{
	opLookup:          {method: "Lookup", decoding: decodingOf(tailName, (*plain).lookup)},
	opForget:          {method: "Forget", unwaited: true, decoding: silent(decodingOf(tailNone, (*plain).forget))},
	opGetAttr:         {method: "GetAttr", decoding: decodingOf(tailNone, (*plain).getAttr)},
	opSetAttr:         {method: "SetAttr", kind: kindMutation, decoding: decodingOf(tailNone, (*plain).setAttr)},
	opReadlink:        {method: "Readlink"},
	opSymlink:         {method: "Symlink", kind: kindMutation},
	opMknod:           {method: "Mknod", kind: kindMutation},
	opMkdir:           {method: "Mkdir", kind: kindMutation},
	opUnlink:          {method: "Unlink", kind: kindMutation, decoding: decodingOf(tailName, (*plain).unlink)},
	opRmdir:           {method: "Rmdir", kind: kindMutation, decoding: decodingOf(tailName, (*plain).rmdir)},
	opRename:          {method: "Rename", kind: kindMutation},
	opLink:            {method: "Link", kind: kindMutation},
	opOpen:            {method: "Open", decoding: decodingOf(tailNone, (*plain).open)},
	opRead:            {method: "Read", kind: kindRead, decoding: decodingOf(tailNone, (*plain).read)},
	opWrite:           {method: "Write", kind: kindMutation, decoding: late(decodingOf(tailBytes, (*plain).write))},
	opStatFs:          {method: "StatFs"},
	opRelease:         {method: "Release", unwaited: true, decoding: decodingOf(tailNone, (*plain).release)},
	opFsync:           {method: "Fsync", kind: kindMutation},
	opSetXAttr:        {method: "SetXAttr", kind: kindMutation},
	opGetXAttr:        {method: "GetXAttr"},
	opListXAttr:       {method: "ListXAttr"},
	opRemoveXAttr:     {method: "RemoveXAttr", kind: kindMutation},
	opFlush:           {method: "Flush", decoding: decodingOf(tailNone, (*plain).flush)},
	opInit:            {method: "Init"},
	opOpenDir:         {method: "OpenDir"},
	opReadDir:         {method: "ReadDir"},
	opReleaseDir:      {method: "ReleaseDir", unwaited: true},
	opFsyncDir:        {method: "FsyncDir", kind: kindMutation},
	opGetLk:           {method: "GetLk"},
	opSetLk:           {method: "SetLk"},
	opSetLkw:          {method: "SetLkw"},
	opAccess:          {method: "Access"},
	opCreate:          {method: "Create", kind: kindMutation, decoding: decodingOf(tailName, (*plain).create)},
	opIoctl:           {method: "Ioctl", kind: kindMutation},
	opBatchForget:     {method: "Forget", unwaited: true, decoding: silent(decodingOf(tailForgets, (*plain).forgetAll))},
	opFallocate:       {method: "Fallocate", kind: kindMutation},
	opReadDirPlus:     {method: "ReadDirPlus"},
	opRename2:         {method: "Rename", kind: kindMutation},
	opLseek:           {method: "Lseek"},
	opCopyFileRange:   {method: "CopyFileRange", kind: kindMutation},
	opSyncFS:          {kind: kindMutation},
	opTmpfile:         {method: "Tmpfile", kind: kindMutation},
	opStatx:           {method: "Statx"},
	opCopyFileRange64: {method: "CopyFileRange", kind: kindMutation},
}

// silent is the decoding of an operation that has no answer.
func silent(d decoding) decoding {
	d.silent = true
	return d
}

// late is the decoding of an operation whose answer's struct is not emptied.
func late(d decoding) decoding {
	d.late = true
	return d
}
