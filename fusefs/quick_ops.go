package fusefs

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// quickFS is what is called from here: of rawFS, the methods that go-fuse calls for the same requests.
type quickFS interface {
	fuse.RawFileSystem
	readInto(in *fuse.ReadIn, buf []byte) (int, fuse.Status) // Read calls it
}

// none is the struct of an operation that has none.
type none struct{}

// batchForgetIn is struct fuse_batch_forget_in with its header, and forgetOne one of the inodes that follow it.
type batchForgetIn struct {
	fuse.InHeader
	count, _ uint32
}

type forgetOne struct{ node, lookups uint64 }

const forgetOneSize = int(unsafe.Sizeof(forgetOne{}))

// quickOps are the operations that are decoded here, by their numbers (enum fuse_opcode of linux/fuse.h).
var quickOps = func() (ops [64]quickOp) {
	ops[1] = quickOf(tailName, (*plain).lookup)
	ops[opForget] = quickOf(tailNone, (*plain).forget)
	ops[opForget].silent = true
	ops[3] = quickOf(tailNone, (*plain).getAttr)
	ops[4] = quickOf(tailNone, (*plain).setAttr)
	ops[10] = quickOf(tailName, (*plain).unlink)
	ops[11] = quickOf(tailName, (*plain).rmdir)
	ops[opOpen] = quickOf(tailNone, (*plain).open)
	ops[opRead] = quickOf(tailNone, (*plain).read)
	ops[opWrite] = quickOf(tailBytes, (*plain).write)
	ops[opWrite].late = true
	ops[opRelease] = quickOf(tailNone, (*plain).release)
	ops[25] = quickOf(tailNone, (*plain).flush)
	ops[35] = quickOf(tailName, (*plain).create)
	ops[opBatchForget] = quickOf(tailForgets, (*plain).forgetAll)
	ops[opBatchForget].silent = true
	return ops
}()

// quickOf makes the entry of an operation from the types of its handler.
func quickOf[In, Out any](tail quickTail, do func(*plain, *In, *Out) fuse.Status) quickOp {
	var in In
	var out Out
	return quickOp{in: int(unsafe.Sizeof(in)), out: int(unsafe.Sizeof(out)), tail: tail, do: func(r *plain) fuse.Status {
		return do(r, (*In)(r.in), (*Out)(r.out))
	}}
}

func (r *plain) lookup(h *fuse.InHeader, out *fuse.EntryOut) fuse.Status {
	return r.fs.Lookup(r.signal, h, r.name, out)
}

func (r *plain) forget(in *fuse.ForgetIn, _ *none) fuse.Status {
	r.fs.Forget(in.NodeId, in.Nlookup)
	return fuse.OK
}

func (r *plain) forgetAll(*batchForgetIn, *none) fuse.Status {
	batch := forgetsOf(r.rest[0])
	if r.forgets != nil && r.forgets.later(batch) {
		return fuse.OK
	}
	for _, one := range batch {
		forgetIt(one, r.fs.Forget)
	}
	return fuse.OK
}

func (r *plain) getAttr(in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return r.fs.GetAttr(r.signal, in, out)
}

func (r *plain) setAttr(in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return r.fs.SetAttr(r.signal, in, out)
}

func (r *plain) unlink(h *fuse.InHeader, _ *none) fuse.Status {
	return r.fs.Unlink(r.signal, h, r.name)
}

func (r *plain) rmdir(h *fuse.InHeader, _ *none) fuse.Status {
	return r.fs.Rmdir(r.signal, h, r.name)
}

func (r *plain) open(in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return r.fs.Open(r.signal, in, out)
}

func (r *plain) create(in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return r.fs.Create(r.signal, in, r.name, out)
}

func (r *plain) read(in *fuse.ReadIn, _ *none) (st fuse.Status) {
	r.size, st = r.fs.readInto(in, r.room[:in.Size])
	return st
}

func (r *plain) write(in *fuse.WriteIn, out *fuse.WriteOut) fuse.Status {
	size, st := r.fs.Writev(r.signal, in, r.rest[:])
	*out = fuse.WriteOut{Size: size}
	return st
}

func (r *plain) flush(in *fuse.FlushIn, _ *none) fuse.Status {
	return r.fs.Flush(r.signal, in)
}

func (r *plain) release(in *fuse.ReleaseIn, _ *none) fuse.Status {
	r.fs.Release(r.signal, in)
	return fuse.OK
}
