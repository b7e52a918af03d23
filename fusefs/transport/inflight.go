package transport

import "sync"

// inflight are the requests that are carried out now and that go-fuse does not know (decode). When the caller of one
// gets a signal, its channel is closed. The zero value is ready. Safe for concurrent use.
//
// A channel that was not closed is used again for another request. That is sound because nobody looks at a request's
// channel after its handler has returned: whoever watches it is waited for by the handler.
type inflight struct{ shards [inflightShards]inflightShard }

// inflightShards is how many requests can begin without a wait for each other. The kernel counts their numbers up.
const inflightShards = 8

// inflightKept is how many channels of a shard are kept for later requests.
const inflightKept = 64

type inflightShard struct {
	mu    sync.Mutex
	now   []flight
	spare []chan struct{}
	_     [64]byte // so that no two shards share a line of memory
}

// flight is one request.
type flight struct {
	unique   uint64
	signal   chan struct{}
	signaled bool
}

func (f *inflight) shard(unique uint64) *inflightShard { return &f.shards[unique>>1%inflightShards] }

// begin notes a request. end must follow.
func (f *inflight) begin(unique uint64) (signal <-chan struct{}) {
	s := f.shard(unique)
	s.mu.Lock()
	defer s.mu.Unlock()
	one := flight{unique: unique}
	if n := len(s.spare); n > 0 {
		one.signal, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		one.signal = make(chan struct{})
	}
	s.now = append(s.now, one)
	return one.signal
}

func (f *inflight) end(unique uint64, signal <-chan struct{}) {
	s := f.shard(unique)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.now {
		if one.signal != signal {
			continue
		}
		last := len(s.now) - 1
		s.now[i], s.now[last] = s.now[last], flight{}
		s.now = s.now[:last]
		if !one.signaled && len(s.spare) < inflightKept {
			s.spare = append(s.spare, one.signal)
		}
		return
	}
}

// signal notes that the caller of a request has got a signal. It returns false if the request is not here.
func (f *inflight) signal(unique uint64) bool {
	s := f.shard(unique)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.now {
		one := &s.now[i]
		if one.unique != unique {
			continue
		}
		if !one.signaled {
			one.signaled = true
			close(one.signal)
		}
		return true
	}
	return false
}
