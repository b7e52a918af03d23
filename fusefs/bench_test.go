package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// The handlers as the kernel calls them, without the kernel's part: what a request
// costs the daemon. Run with -benchmem; a path that every read, write or stat takes
// allocates nothing of its own.

// benchFS is a file system over a temporary directory with 64 files, whose lease this
// very process holds.
func benchFS(b testing.TB) *rawFS { return benchExemptFS(b, lease.Holder{}) }

// benchExemptFS is the same where anybody may write, if globs say where. Without a
// holder it is this process.
func benchExemptFS(b testing.TB, h lease.Holder, globs ...string) *rawFS {
	b.Helper()
	x, err := gate.NewExempt(globs, false)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for i := range 64 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d", i)), make([]byte, 1<<20), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	fd, err := cloneMount(dir)
	if err != nil {
		b.Fatal(err)
	}
	clock := lease.SystemClock()
	r := gate.NewResolver(clock)
	g := gate.NewGuard(gate.GuardConfig{Worktree: "w", Mode: gate.Exclusive, OnFree: gate.DenyOnFree, Clock: clock, Resolver: r, Exempt: x})
	g.Bind(&freeKeeper{})
	f, err := newRawFS(Options{Source: dir, Layout: laidOut(layout.Tree, "w"), Enforcement: gate.NewEnforcement(gate.Enforcing), Exempt: x != nil, Guards: func(lease.WorktreeID) (*gate.Guard, error) { return g, nil }}, fd)
	if err != nil {
		b.Fatal(err)
	}
	if h.Scope == "" {
		if h, err = r.HolderFor(os.Getpid(), gate.ScopeTree, ""); err != nil {
			b.Fatal(err)
		}
	}
	g.Open(lease.Grant{Token: 1, Holder: h, Deadline: clock.Boot() + time.Hour})
	b.Cleanup(func() { r.Close(); _ = f.close() })
	return f
}

func benchHeader(node uint64) fuse.InHeader {
	return fuse.InHeader{NodeId: node, Caller: fuse.Caller{Pid: uint32(unix.Gettid())}}
}

func must(b testing.TB, st fuse.Status) {
	if st != fuse.OK {
		b.Fatal(st)
	}
}

func benchLookup(b testing.TB, f *rawFS, name string) uint64 {
	var out fuse.EntryOut
	h := benchHeader(fuse.FUSE_ROOT_ID)
	must(b, f.Lookup(nil, &h, name, &out))
	return out.NodeId
}

func benchOpen(b testing.TB, f *rawFS, flags uint32) uint64 {
	in := fuse.OpenIn{InHeader: benchHeader(benchLookup(b, f, "file00")), Flags: flags}
	var out fuse.OpenOut
	must(b, f.Open(nil, &in, &out))
	return out.Fh
}

func BenchmarkLookup(b *testing.B) {
	f := benchFS(b)
	id := benchLookup(b, f, "file00")
	h := benchHeader(fuse.FUSE_ROOT_ID)
	var out fuse.EntryOut
	b.ReportAllocs()
	for b.Loop() {
		must(b, f.Lookup(nil, &h, "file00", &out))
		f.Forget(id, 1)
	}
}

func BenchmarkGetAttr(b *testing.B) {
	f := benchFS(b)
	in := fuse.GetAttrIn{InHeader: benchHeader(benchLookup(b, f, "file00"))}
	var out fuse.AttrOut
	b.ReportAllocs()
	for b.Loop() {
		must(b, f.GetAttr(nil, &in, &out))
	}
}

func BenchmarkGetXAttr(b *testing.B) {
	f := benchFS(b)
	h := benchHeader(benchLookup(b, f, "file00"))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f.GetXAttr(nil, &h, "security.capability", nil)
	}
}

func BenchmarkOpenRelease(b *testing.B) {
	f := benchFS(b)
	for name, flags := range map[string]uint32{"read": unix.O_RDONLY, "write": unix.O_WRONLY} {
		b.Run(name, func(b *testing.B) {
			in := fuse.OpenIn{InHeader: benchHeader(benchLookup(b, f, "file00")), Flags: flags}
			b.ReportAllocs()
			for b.Loop() {
				var out fuse.OpenOut
				must(b, f.Open(nil, &in, &out))
				f.Release(nil, &fuse.ReleaseIn{Fh: out.Fh})
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	f := benchFS(b)
	in := fuse.ReadIn{Fh: benchOpen(b, f, unix.O_RDONLY), Size: 4096}
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, st := f.Read(nil, &in, buf)
		must(b, st)
	}
}

func BenchmarkWrite(b *testing.B) { benchWrite(b, benchFS(b)) }

// With rules somewhere the holder does not pay for the place, which nobody asks for.
func BenchmarkWriteBesideExempt(b *testing.B) {
	benchWrite(b, benchExemptFS(b, lease.Holder{}, "**/node_modules/.cache/**"))
}

// A stranger pays for the place of its file each time.
func BenchmarkWriteByPlace(b *testing.B) {
	benchWrite(b, benchExemptFS(b, lease.Holder{Scope: string(gate.ScopeUser), ScopeKey: "nobody"}, "**/node_modules/.cache/**", "file*"))
}

func benchWrite(b *testing.B, f *rawFS) {
	b.Helper()
	for _, clients := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.SetParallelism(clients)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				in := fuse.WriteIn{Fh: benchOpen(b, f, unix.O_WRONLY), Size: 4096}
				data := [][]byte{make([]byte, 4096)}
				for pb.Next() {
					_, st := f.Writev(nil, &in, data)
					must(b, st)
				}
			})
		})
	}
}

func BenchmarkCreateUnlink(b *testing.B) {
	f := benchFS(b)
	in := fuse.CreateIn{InHeader: benchHeader(fuse.FUSE_ROOT_ID), Flags: unix.O_WRONLY | unix.O_EXCL, Mode: 0o644, Umask: 0o022}
	h := in.InHeader
	b.ReportAllocs()
	for b.Loop() {
		var out fuse.CreateOut
		must(b, f.Create(nil, &in, "new", &out))
		f.Release(nil, &fuse.ReleaseIn{Fh: out.Fh})
		must(b, f.Unlink(nil, &h, "new"))
		f.Forget(out.NodeId, 1)
	}
}

func BenchmarkReadDir(b *testing.B) {
	f := benchFS(b)
	buf := make([]byte, 32<<10)
	in := fuse.OpenIn{InHeader: benchHeader(fuse.FUSE_ROOT_ID)}
	var out fuse.OpenOut
	must(b, f.OpenDir(nil, &in, &out))
	for name, read := range map[string]func(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status{"plain": f.ReadDir, "plus": f.ReadDirPlus} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, read(nil, &fuse.ReadIn{Fh: out.Fh}, fuse.NewDirEntryList(buf, 0)))
			}
		})
	}
}
