package fusefs

import (
	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// newTransport makes what brings the requests from dev, which is /dev/fuse.
func (s *Server) newTransport(dev int) {
	s.transport = transport.New(transport.Config{
		Dev: dev, Handler: s.fs, Options: mountOptions(!s.fs.opts.LocalLocks), Waiting: gate.MaxWaiting,
		LastCPU: lastCPU, WhenDying: process.WhenDying, Signalled: process.Signalled, Meter: &s.meter, Log: s.opts.Log,
	})
	s.opts.Enforcement.OnWait(s.transport.Wait)
}

// lastCPU is the processor on which a thread has run last. It is below 0 if the thread has ended, or has no number here.
func lastCPU(thread uint32) int {
	stat, err := process.ReadThreadStat(int(thread))
	if err != nil {
		return -1
	}
	return stat.Processor
}

// What the transport asks besides go-fuse's methods: ReadInto (read.go), LockNow (locks.go), and these.

// FD is the descriptor that the transport splices a large read from, and Spliced counts it.
func (f *rawFS) FD(fh uint64) (fd int, ok bool) {
	h := f.handles.get(fh)
	if h == nil {
		return -1, false
	}
	return h.fd, true
}

// Spliced counts a read that did not come to ReadInto.
func (f *rawFS) Spliced() { f.stats.count(gate.OpRead) }

// Ended ends what waits for locks: there are no more requests.
func (f *rawFS) Ended() { f.locks.Stop() }
