package gate

// Effect is what an operation can do to the backing store.
type Effect uint8

const (
	// Neutral operations change nothing on the backing store, and read nothing that could be
	// refused (FORGET, RELEASE, locks that stay in the kernel).
	Neutral Effect = iota
	// Reads are never refused.
	Reads
	// Mutates must pass Guard.Enter. Some operations mutate only in some forms: OPEN for writing,
	// an IOCTL that sets. The handler asks for those forms only.
	Mutates
)

// Op is an operation of the file system. There is one for each method of go-fuse's raw interface.
type Op uint8

// The operations. For those that mutate, the guard is asked.
const (
	OpNone Op = iota
	OpSetAttr
	OpMknod
	OpMkdir
	OpSymlink
	OpLink
	OpUnlink
	OpRmdir
	OpRename
	OpCreate
	OpTmpfile
	OpOpen
	OpWrite
	OpWritev
	OpCopyFileRange
	OpFallocate
	OpIoctl
	OpSetXAttr
	OpRemoveXAttr
	OpFsync
	OpLookup
	OpGetAttr
	OpStatx
	OpReadlink
	OpAccess
	OpGetXAttr
	OpListXAttr
	OpRead
	OpLseek
	OpOpenDir
	OpReadDir
	OpReadDirPlus
	OpFsyncDir
	OpStatFs
	OpForget
	OpRelease
	OpReleaseDir
	OpFlush
	OpGetLk
	OpSetLk
	OpSetLkw
	OpInit
	OpOnUnmount
	OpString
	OpSetDebug
	opCount
)

type operation struct {
	method string // its name in fuse.RawFileSystem
	effect Effect
}

// operations is the one table of what the file system can be asked to do. A test of fusefs walks
// go-fuse's raw interface by reflection, and fails for a method without a line here.
var operations = [opCount]operation{
	OpSetAttr:       {"SetAttr", Mutates},
	OpMknod:         {"Mknod", Mutates},
	OpMkdir:         {"Mkdir", Mutates},
	OpSymlink:       {"Symlink", Mutates},
	OpLink:          {"Link", Mutates},
	OpUnlink:        {"Unlink", Mutates},
	OpRmdir:         {"Rmdir", Mutates},
	OpRename:        {"Rename", Mutates},
	OpCreate:        {"Create", Mutates},
	OpTmpfile:       {"Tmpfile", Mutates},
	OpOpen:          {"Open", Mutates}, // in a write mode, or with O_TRUNC
	OpWrite:         {"Write", Mutates},
	OpWritev:        {"Writev", Mutates},
	OpCopyFileRange: {"CopyFileRange", Mutates}, // its destination
	OpFallocate:     {"Fallocate", Mutates},
	OpIoctl:         {"Ioctl", Mutates}, // the setters
	OpSetXAttr:      {"SetXAttr", Mutates},
	OpRemoveXAttr:   {"RemoveXAttr", Mutates},
	OpFsync:         {"Fsync", Mutates}, // of a handle that can write: it would make stale bytes durable

	OpLookup:      {"Lookup", Reads},
	OpGetAttr:     {"GetAttr", Reads},
	OpStatx:       {"Statx", Reads},
	OpReadlink:    {"Readlink", Reads},
	OpAccess:      {"Access", Reads},
	OpGetXAttr:    {"GetXAttr", Reads},
	OpListXAttr:   {"ListXAttr", Reads},
	OpRead:        {"Read", Reads},
	OpLseek:       {"Lseek", Reads},
	OpOpenDir:     {"OpenDir", Reads},
	OpReadDir:     {"ReadDir", Reads},
	OpReadDirPlus: {"ReadDirPlus", Reads},
	OpFsyncDir:    {"FsyncDir", Reads}, // a directory is opened for reading only
	OpStatFs:      {"StatFs", Reads},

	OpForget:     {"Forget", Neutral},
	OpRelease:    {"Release", Neutral},
	OpReleaseDir: {"ReleaseDir", Neutral},
	OpFlush:      {"Flush", Neutral}, // nothing is buffered here: it ends the closing process's locks
	OpGetLk:      {"GetLk", Neutral}, // locks change nothing
	OpSetLk:      {"SetLk", Neutral},
	OpSetLkw:     {"SetLkw", Neutral},
	OpInit:       {"Init", Neutral},
	OpOnUnmount:  {"OnUnmount", Neutral},
	OpString:     {"String", Neutral},
	OpSetDebug:   {"SetDebug", Neutral},
}

// String returns the name of the raw method.
func (o Op) String() string {
	if o >= opCount || operations[o].method == "" {
		return "unknown"
	}
	return operations[o].method
}

// Effect returns what the operation can do. An unknown operation mutates.
func (o Op) Effect() Effect {
	if o == OpNone || o >= opCount {
		return Mutates
	}
	return operations[o].effect
}

// OpByMethod finds the operation of a raw method by its name.
func OpByMethod(method string) (Op, bool) {
	for o, line := range operations {
		if line.method == method && method != "" {
			return Op(o), true
		}
	}
	return OpNone, false
}

// Ops returns every operation of the table.
func Ops() []Op {
	all := make([]Op, 0, opCount)
	for o := OpNone + 1; o < opCount; o++ {
		all = append(all, o)
	}
	return all
}
