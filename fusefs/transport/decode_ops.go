package transport

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// none is the struct of an operation that has none.
type none struct{}

// decodingOf makes the entry of an operation from the types of its handler.
func decodingOf[In, Out any](rest tail, do func(*plain, *In, *Out) fuse.Status) decoding {
	var in In
	var out Out
	return decoding{in: int(unsafe.Sizeof(in)), out: int(unsafe.Sizeof(out)), tail: rest, do: func(r *plain) fuse.Status {
		return do(r, (*In)(r.in), (*Out)(r.out))
	}}
}

func (r *plain) lookup(h *fuse.InHeader, out *fuse.EntryOut) fuse.Status {
	return r.handler.Lookup(r.signal, h, r.name, out)
}

func (r *plain) forget(in *fuse.ForgetIn, _ *none) fuse.Status {
	r.handler.Forget(in.NodeId, in.Nlookup)
	return fuse.OK
}

func (r *plain) forgetAll(*batchForgetIn, *none) fuse.Status {
	batch := forgetsOf(r.rest[0])
	if r.forgets != nil && r.forgets.later(batch) {
		return fuse.OK
	}
	for _, one := range batch {
		forgetIt(one, r.handler.Forget)
	}
	return fuse.OK
}

func (r *plain) getAttr(in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return r.handler.GetAttr(r.signal, in, out)
}

func (r *plain) setAttr(in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return r.handler.SetAttr(r.signal, in, out)
}

func (r *plain) unlink(h *fuse.InHeader, _ *none) fuse.Status {
	return r.handler.Unlink(r.signal, h, r.name)
}

func (r *plain) rmdir(h *fuse.InHeader, _ *none) fuse.Status {
	return r.handler.Rmdir(r.signal, h, r.name)
}

func (r *plain) open(in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return r.handler.Open(r.signal, in, out)
}

func (r *plain) create(in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return r.handler.Create(r.signal, in, r.name, out)
}

func (r *plain) read(in *fuse.ReadIn, _ *none) (st fuse.Status) {
	r.size, st = r.handler.ReadInto(in, r.room[:in.Size])
	return st
}

func (r *plain) write(in *fuse.WriteIn, out *fuse.WriteOut) fuse.Status {
	size, st := r.handler.Writev(r.signal, in, r.rest[:])
	*out = fuse.WriteOut{Size: size}
	return st
}

func (r *plain) flush(in *fuse.FlushIn, _ *none) fuse.Status {
	return r.handler.Flush(r.signal, in)
}

func (r *plain) release(in *fuse.ReleaseIn, _ *none) fuse.Status {
	r.handler.Release(r.signal, in)
	return fuse.OK
}
