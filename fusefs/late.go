package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// leave ends the mutation. On a store that other kernels write, a late mutation is not
// acknowledged: *st becomes EIO. One that has failed may have landed all the same, and is told, too.
func (p *permit) leave(st *fuse.Status) {
	if p.by == nil {
		p.letGo(st)
		return
	}
	by, made := p.by, *st == fuse.OK
	p.by = nil
	defer by.Drop()
	func() {
		defer p.letGo(st) // whatever becomes of Done
		if made {
			by.Done()
		}
	}()
	if made {
		by.After()
	}
}

// letGo ends the passes, and what else is held.
func (p *permit) letGo(st *fuse.Status) {
	answer := *st
	for i := range p.n {
		g, pass := p.of[i].guard, p.of[i].pass
		var why error
		late := p.late
		switch {
		case answer == fuse.OK:
			why = g.Late(pass)
		case mayHaveLanded(answer):
			why = g.LateFailed(pass)
			late = func() lease.LateWrite { w := p.late(); w.Failed = unix.Errno(answer).Error(); return w }
		}
		if why != nil {
			g.ReportLate(pass, why, late())
			*st = fuse.EIO
		}
		pass.End()
	}
	p.outside.End()
	p.end()
}

// mayHaveLanded reports whether an error is one that a client of a store gives for what it has sent, when it is cut off before the answer.
// Such a client may retry, or have its request done, after it has given up.
func mayHaveLanded(st fuse.Status) bool {
	switch unix.Errno(st) {
	case unix.EIO, unix.ETIMEDOUT, unix.ENOTCONN, unix.ESHUTDOWN, unix.ECONNABORTED:
		return true
	}
	return false
}

func (p *permit) late() lease.LateWrite {
	w := lease.LateWrite{Op: p.op.String(), Offset: p.off, Length: p.length}
	if p.on != nil {
		w.File = p.on.name()
	}
	return w
}
