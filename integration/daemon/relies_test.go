package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// A release takes the view aside. What had not reached the store by then could go over what the next holder writes.
var (
	farGivenBack atomic.Int64 // how often a lease was given back
	farTooEarly  atomic.Int64 // and something in the file "direct" was not synced
)

// Rename counts releases.
func (s farStore) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if strings.HasSuffix(from, ".lock") {
		farGivenBack.Add(1)
		if farUnsynced.Load() {
			farTooEarly.Add(1)
		}
	}
	return s.RawFileSystem.Rename(cancel, in, from, to)
}

func init() {
	operation.Add("far given back", func(s *operation.Box, _ operation.Command) error {
		s.Vals = []int64{farGivenBack.Load(), farTooEarly.Load(), 0}
		if farUnsynced.Load() {
			s.Vals[2] = 1
		}
		return nil
	})
}

// reliesOnFence is a configuration that relies on a fence agent. Nobody is cut off here.
func reliesOnFence(m *harness.Mount) string {
	file := filepath.Join(m.Base, "relies.yaml")
	require.NoError(m.T, os.WriteFile(file, []byte("fence: [/bin/true]\nrely_on_fence: true\n"), 0o644))
	return file
}

// Who relies on fence agents does not wait for the store at each write, and does not ask it for a successor. When the lease is given back
// all has reached the store, also of a file that stays open.
func TestRelyingOnAFenceSyncsAllWritesBeforeTheRelease(t *testing.T) {
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	require.Contains(t, m.MustCLI("status"), "(rely_on_fence)")
	a := harness.StartActor(t, "writer")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("direct"), Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND, Mode: 0o644})
	t.Cleanup(func() { server.OK(harness.Command{Op: "far looks"}) }) // or nothing ends after a failure
	server.OK(harness.Command{Op: "far looks", Flags: 1})             // a write that asked the store would wait
	for range 100 {
		a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("line\n")})
	}
	server.OK(harness.Command{Op: "far looks"})
	require.Equal(t, int64(99), server.OK(harness.Command{Op: "far unsynced"}).Vals[0], "writes that did not wait for the one before")
	m.Release(a)
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	text, err := os.ReadFile(filepath.Join(m.Source, "direct"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("line\n", 100), string(text))
	vals := server.OK(harness.Command{Op: "far given back"}).Vals
	require.Positive(t, vals[0], "leases given back")
	require.Zero(t, vals[1], "given back before all had reached the store")
}

// What is closed reaches the store by itself, and an fsync waits for it.
func TestRelyingOnAFenceSyncsClosedFiles(t *testing.T) {
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", `echo text >"$0/direct"`, m.Mountpoint)
	require.Zero(t, exit, errs)
	vals := server.OK(harness.Command{Op: "far given back"}).Vals
	require.Positive(t, vals[0])
	require.Zero(t, vals[1])
	text, err := os.ReadFile(filepath.Join(m.Source, "direct"))
	require.NoError(t, err)
	require.Equal(t, "text\n", string(text))
}

// Who says that each write is to be synced has it synced, also where it goes through a descriptor for appends, and where the kernel does nothing
// for O_DSYNC. So does whoever says it of one write alone.
func TestRelyingOnAFenceSyncsEachSynchronousWrite(t *testing.T) {
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	for _, how := range []string{"append,dsync", "append,sync", "dsync"} {
		before := server.OK(harness.Command{Op: "far unsynced"}).Vals[0]
		_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "dd", "if=/dev/zero", "of="+m.At("direct"), "bs=512", "count=10", "conv=notrunc", "oflag="+how, "status=none")
		require.Zero(t, exit, errs)
		require.Zero(t, server.OK(harness.Command{Op: "far unsynced"}).Vals[0]-before, "%s: writes behind one that was not synced", how)
	}
}

// Fallocate, CopyFileRange and SetAttr say that the file "direct" was changed, as Writev does; the last one through an open file only.
func (s farStore) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	farChanged(in.NodeId)
	return s.RawFileSystem.Fallocate(cancel, in)
}

func (s farStore) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	farChanged(in.NodeIdOut)
	return s.RawFileSystem.CopyFileRange(cancel, in)
}

func (s farStore) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if _, open := in.GetFh(); open && in.Valid&fuse.FATTR_SIZE != 0 {
		farChanged(in.NodeId)
	}
	return s.RawFileSystem.SetAttr(cancel, in, out)
}

func farChanged(id uint64) {
	if id == farDirect.Load() {
		farUnsynced.Store(true)
	}
}

// Whatever changes the content of a file through a descriptor has reached the store when the lease is given back, also if the file has another name
// or none by then.
func TestRelyingOnAFenceSyncsEveryKindOfChange(t *testing.T) {
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	a := harness.StartActor(t, "writer")
	do := func(c harness.Command) func() { return func() { a.OK(c) } }
	write := do(harness.Command{Op: "write", Handle: "f", Data: []byte("text")})
	path := m.At("direct")
	for _, x := range []struct {
		name  string
		after bool // it comes with the end of the lease
		do    []func()
	}{
		{"write", false, []func(){write}},
		{"pwrite", false, []func(){do(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("text"), Off: 9})}},
		{"fallocate", false, []func(){do(harness.Command{Op: "fallocate", Handle: "f", Len: 8192})}},
		{"copy_file_range", false, []func(){
			do(harness.Command{Op: "open", Handle: "from", Path: m.At("from"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644}),
			do(harness.Command{Op: "write", Handle: "from", Data: []byte("other")}),
			do(harness.Command{Op: "copy", Handle: "from", Name: "f", Len: 5}), do(harness.Command{Op: "close", Handle: "from"}),
		}},
		{"ftruncate", false, []func(){do(harness.Command{Op: "ftruncate", Handle: "f", Len: 100000})}},
		{"a store through a mapping", true, []func(){
			do(harness.Command{Op: "ftruncate", Handle: "f", Len: 4096}), do(harness.Command{Op: "fsync", Handle: "f"}),
			do(harness.Command{Op: "mmap", Handle: "f", Name: "map", Len: 4096}), do(harness.Command{Op: "store", Name: "map", Data: []byte("mapped")}),
		}},
		{"write and close", true, []func(){write, do(harness.Command{Op: "close", Handle: "f"})}},
		{"write and rename", false, []func(){write, do(harness.Command{Op: "rename", Path: path, To: path + "-moved"})}},
		{"write and unlink", false, []func(){write, do(harness.Command{Op: "unlink", Path: path})}},
	} {
		t.Run(x.name, func(t *testing.T) {
			m.Acquire(a)
			a.OK(harness.Command{Op: "open", Handle: "f", Path: path, Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
			for _, f := range x.do {
				f()
			}
			before := server.OK(harness.Command{Op: "far given back"}).Vals
			require.True(t, x.after || before[2] == 1, "the store has been told to sync already")
			m.Release(a)
			after := server.OK(harness.Command{Op: "far given back"}).Vals
			require.Greater(t, after[0], before[0])
			require.Equal(t, before[1], after[1], "given back before it had reached the store")
			require.Zero(t, after[2])
			if x.name != "write and close" {
				a.OK(harness.Command{Op: "close", Handle: "f"})
			}
			if x.name == "a store through a mapping" {
				text, err := os.ReadFile(filepath.Join(m.Base, "source", "direct"))
				require.NoError(t, err)
				require.Contains(t, string(text), "mapped")
				a.OK(harness.Command{Op: "munmap", Name: "map"})
			}
		})
	}
}

// It needs an agent, and a store of several hosts.
func TestRelyingOnAFenceNeedsAnAgentAndASharedStore(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	args := []string{"mount", m.Source, m.Mountpoint, "--control", m.LockDir}
	_, errs, exit := m.CLI(append(args, "--rely-on-fence")...)
	require.Equal(t, 2, exit, errs)
	require.Contains(t, errs, "rely_on_fence")
	require.Contains(t, errs, "needs a fence agent (fence), here and on every other host")
	_, errs, exit = m.CLI(append(args, "--config", reliesOnFence(m))...)
	require.Equal(t, 2, exit, errs)
	require.Contains(t, errs, "rely_on_fence is for a store of several hosts")
	require.Contains(t, errs, "leave rely_on_fence out")
}
