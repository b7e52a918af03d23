package fusefs

import (
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// While a maintenance window is open (gate/tenure), its guard decides who changes what rules fix there, and not the rules:
// its holder everything, others nothing. What a lock guards is under the lock's own guard, of which the window has the
// epoch.

// over counts a change of what rules fix, and adds the windows that are open over it. drop must follow. It is empty
// where nothing is fixed.
func (f *rawFS) over(path string, p lockfile.Place) (all []guarding) {
	if path == "" || len(p.Once)+len(p.Keep)+len(p.Append) == 0 {
		return nil
	}
	all = append(all, guarding{counts: f.opts.Locks.Pass()})
	for _, w := range f.opts.Locks.Over(path, p) {
		all = append(all, guarding{window: w})
	}
	return all
}

// inWindow reports whether a window decides, and not the rules.
func inWindow(all []guarding) bool {
	return slices.ContainsFunc(all, func(g guarding) bool { return g.window != nil })
}

func (g guarding) guard() *gate.Guard {
	if g.window != nil {
		return g.window.Guard()
	}
	return g.lock.Guard()
}

// drop lets go of what was found.
func drop(all []guarding) {
	for _, g := range all {
		switch {
		case g.lock != nil:
			g.lock.Done()
		case g.counts != nil:
			g.counts.Leave()
		}
	}
}

// admitGrowth refuses to write below the end of a file that only grows, but to the holder of a window, who enters it. The end
// stays where it is until the call is made: the kernel lets one request at a time through that may move it
// (fuse_dio_wr_exclusive_lock, and the inode's lock for a truncation, fallocate and copy_file_range), and a mount with
// rules is the only one of its directory.
func (f *rawFS) admitGrowth(p *permit, h *fuse.InHeader, on *handle, below bool, off uint64) fuse.Status {
	if on.grows == nil && !on.made {
		return fuse.OK
	}
	counted := guarding{counts: f.opts.Locks.Pass()}
	p.guarded = append(p.guarded, counted) // until the write has left
	if f.opts.Locks.SomeWindow() {
		if in, st := f.enterWindows(p, h, on); in || st != fuse.OK {
			return st
		}
	}
	if on.grows == nil || !below || !f.replaceBarrier.gone() && !belowEnd(on.fd, off) {
		return fuse.OK
	}
	path, _ := f.pathOfFile(on.node)
	return f.refuseFixed(gate.ReasonAppend, p.op, h, on.grows, path)
}

// enterWindows asks the windows over a file that is written through a handle that was opened before them. in says that there is
// one.
func (f *rawFS) enterWindows(p *permit, h *fuse.InHeader, on *handle) (in bool, st fuse.Status) {
	path, ok := f.pathOfFile(on.node)
	if !ok {
		return false, fuse.OK
	}
	place := f.opts.Locks.Rules().At(path)
	if len(place.Once)+len(place.Keep)+len(place.Append) == 0 {
		return false, fuse.OK
	}
	for _, w := range f.opts.Locks.Over(path, place) {
		in = true
		if on.restsOn(w.Guard()) {
			continue
		}
		if st := p.enterWindow(h, w); st != fuse.OK {
			return true, st
		}
	}
	return in, fuse.OK
}

func (p *permit) enterWindow(h *fuse.InHeader, w *tenure.Window) fuse.Status {
	req := p.request(h, gate.NoEpoch)
	req.At, req.May = nil, nil
	_, st := p.enter(w.Guard(), req, nil, fuse.EXDEV)
	return st
}
