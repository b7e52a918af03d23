package fusefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

func TestJudgeTouch(t *testing.T) {
	for name, c := range map[string]struct {
		facts touchFacts
		may   bool
		st    fuse.Status
	}{
		"a stranger":                          {touchFacts{}, false, fuse.OK},
		"a stranger of a setuid file":         {touchFacts{setid: true}, false, fuse.EPERM},
		"the owner":                           {touchFacts{owner: true}, true, fuse.OK},
		"the owner of a setuid file":          {touchFacts{owner: true, setid: true}, true, fuse.OK},
		"the owner of what nobody may change": {touchFacts{owner: true, write: true, fixed: true}, false, fuse.EPERM},
		"who may write":                       {touchFacts{write: true}, true, fuse.OK},
		"who may write, but not own, setuids": {touchFacts{write: true, setid: true}, true, fuse.OK},
	} {
		may, st := judgeTouch(c.facts)
		require.Equal(t, c.may, may, name)
		require.Equal(t, c.st, st, name)
	}
}

// The backing file system judges with the ids, groups and capabilities of the caller. No other
// goroutine gets the thread that asked.
func TestMayAccess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	top := t.TempDir()
	for dir := top; dir != "/"; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode()&0o001 == 0 {
			require.NoError(t, os.Chmod(dir, st.Mode()|0o011))
		}
	}
	file := filepath.Join(top, "d", "f")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o660))
	require.NoError(t, os.Chmod(filepath.Dir(file), 0o755))
	require.NoError(t, os.Chmod(file, 0o660))
	require.NoError(t, os.Chown(file, 1000, 2000))
	fd, err := unix.Open(file, unix.O_PATH, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	mapped := func(first uint32) []process.IDRange { return []process.IDRange{{First: first, Count: 10}} }
	for name, c := range map[string]struct {
		who process.Credentials
		err error
	}{
		"the owner":                     {process.Credentials{UID: 1000, GID: 1000}, nil},
		"a group":                       {process.Credentials{UID: 1001, GID: 2000}, nil},
		"a supplementary group":         {process.Credentials{UID: 1001, GID: 1001, Groups: []uint32{7, 2000}}, nil},
		"another":                       {process.Credentials{UID: 1001, GID: 1001, Groups: []uint32{7}}, unix.EACCES},
		"with the power":                {process.Credentials{UID: 1001, Effective: capDacOverride}, nil},
		"root":                          {process.Credentials{Effective: ^uint64(0)}, nil},
		"root without the power":        {process.Credentials{Effective: ^uint64(capDacOverride | capDacReadSearch)}, unix.EACCES},
		"with the power somewhere else": {process.Credentials{UID: 1001, Effective: capDacOverride, UIDs: mapped(5000), GIDs: mapped(5000)}, unix.EACCES},
	} {
		require.Equal(t, c.err, MayAccess(c.who, fd, "", unix.W_OK), name)
		require.Equal(t, c.err, MayAccess(c.who, unix.AT_FDCWD, file, unix.W_OK), name)
	}
	require.NoError(t, os.Chmod(filepath.Dir(file), 0o700))
	require.NoError(t, MayAccess(process.Credentials{UID: 1000}, fd, "", unix.W_OK), "it has been reached")
	require.Equal(t, unix.EACCES, MayAccess(process.Credentials{UID: 1000}, unix.AT_FDCWD, file, unix.W_OK), "it cannot be")
	uid, _ := unix.SetfsuidRetUid(-1)
	require.Zero(t, uid)
}

func TestMayByInodeFlags(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	top := t.TempDir()
	nodeOf := func(name string, flags int) *node {
		path := filepath.Join(top, name)
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		was, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
		if err != nil || unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(was)|flags) != nil {
			t.Skip("this file system has no inode flags")
		}
		t.Cleanup(func() { _ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(was)) })
		return &node{fd: fd}
	}
	for _, name := range []string{"fixed", "growing", "plain"} {
		require.NoError(t, os.Mkdir(filepath.Join(top, name+".d"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), nil, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(top, name+".d", "f"), nil, 0o644))
	}
	const fixedFlag, growingFlag = 0x10, 0x20
	fixed, growing, plain := nodeOf("fixed", fixedFlag), nodeOf("growing", growingFlag), nodeOf("plain", 0)
	fixedDir, growingDir, plainDir := nodeOf("fixed.d", fixedFlag), nodeOf("growing.d", growingFlag), nodeOf("plain.d", 0)
	topDir := nodeOf(".", 0)
	attr := func(valid uint32) *fuse.SetAttrIn {
		return &fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{Valid: valid}}
	}
	now := attr(fuse.FATTR_ATIME | fuse.FATTR_ATIME_NOW | fuse.FATTR_MTIME | fuse.FATTR_MTIME_NOW)
	for name, c := range map[string]struct {
		fixed, growing, plain func() bool
		want                  [3]bool
	}{
		"xattr":  {mayChange(gate.OpSetXAttr, fixed), mayChange(gate.OpSetXAttr, growing), mayChange(gate.OpSetXAttr, plain), [3]bool{false, false, true}},
		"open":   {mayOpen(fixed, 1), mayOpen(growing, 1), mayOpen(plain, 1), [3]bool{false, false, true}},
		"append": {mayOpen(fixed, unix.O_APPEND), mayOpen(growing, unix.O_APPEND), mayOpen(plain, unix.O_APPEND), [3]bool{false, true, true}},
		"chmod":  {maySetAttr(attr(fuse.FATTR_MODE), fixed), maySetAttr(attr(fuse.FATTR_MODE), growing), maySetAttr(attr(fuse.FATTR_MODE), plain), [3]bool{false, false, true}},
		"times":  {maySetAttr(attr(fuse.FATTR_MTIME), fixed), maySetAttr(attr(fuse.FATTR_MTIME), growing), maySetAttr(attr(fuse.FATTR_MTIME), plain), [3]bool{false, false, true}},
		"touch":  {maySetAttr(now, fixed), maySetAttr(now, growing), maySetAttr(now, plain), [3]bool{false, true, true}},
		"create": {mayEntry(gate.OpCreate, fixedDir, "x"), mayEntry(gate.OpCreate, growingDir, "x"), mayEntry(gate.OpCreate, plainDir, "x"), [3]bool{false, true, true}},
		"unlink": {mayEntry(gate.OpUnlink, fixedDir, "f"), mayEntry(gate.OpUnlink, growingDir, "f"), mayEntry(gate.OpUnlink, plainDir, "f"), [3]bool{false, false, true}},
		"victim": {mayEntry(gate.OpUnlink, topDir, "fixed"), mayEntry(gate.OpUnlink, topDir, "growing"), mayEntry(gate.OpUnlink, topDir, "plain"), [3]bool{false, false, true}},
		"rename": {mayRename(topDir, "fixed", plainDir, "x"), mayRename(topDir, "growing", plainDir, "x"), mayRename(topDir, "plain", plainDir, "x"), [3]bool{false, false, true}},
		"over":   {mayRename(plainDir, "f", topDir, "fixed"), mayRename(plainDir, "f", topDir, "growing"), mayRename(plainDir, "f", topDir, "plain"), [3]bool{false, false, true}},
		"into":   {mayRename(topDir, "plain", fixedDir, "x"), mayRename(topDir, "plain", growingDir, "x"), mayRename(topDir, "plain", plainDir, "x"), [3]bool{false, true, true}},
		"link":   {mayLink(fixed, plainDir), mayLink(growing, plainDir), mayLink(plain, plainDir), [3]bool{false, false, true}},
	} {
		require.Equal(t, c.want, [3]bool{c.fixed(), c.growing(), c.plain()}, name)
	}
	require.Nil(t, mayChange(gate.OpIoctl, fixed), "the flags themselves can be taken away")
}
