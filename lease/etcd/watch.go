package etcd

import (
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
)

// remembered is a head as it was read. It is used again until the watch tells of a change, and for a short time only.
type remembered struct {
	head lease.Head
	of   lease.Judgement
	at   time.Duration // boot clock, before it was read
}

// watch is told what changes below the prefix. It decides nothing: it makes others look. It may be silent for as long as a network is.
func (s *Session) watch() {
	for s.ctx.Err() == nil {
		news := s.client.Watch(clientv3.WithRequireLeader(s.ctx), s.cfg.Prefix+"/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		for got := range news {
			s.told(got)
		}
		s.silent()
		t := time.NewTimer(s.patience())
		select {
		case <-t.C:
		case <-s.ctx.Done():
		}
		t.Stop()
	}
}

func (s *Session) silent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = false
	clear(s.heads)
}

func (s *Session) told(got clientv3.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching = got.Err() == nil; !s.watching || got.Created {
		clear(s.heads)
	}
	for _, e := range got.Events {
		rest := strings.TrimPrefix(string(e.Kv.Key), s.cfg.Prefix+"/")
		what, id, _ := strings.Cut(rest, "/")
		if what == "head" || what == "alive" || what == "floor" {
			delete(s.heads, lease.WorktreeID(id))
			s.changed[lease.WorktreeID(id)] = e.Kv.ModRevision
		}
		if what != "head" {
			continue
		}
		for t := range s.tenures {
			if string(t.keys.id) == id && e.Kv.ModRevision > t.revision {
				t.doubt = true // our own writes are told, too
			}
		}
	}
}

// remember keeps a head that was read at a revision, unless the watch has told of a later change.
func (s *Session) remember(id lease.WorktreeID, revision int64, r *remembered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching && s.changed[id] <= revision {
		s.heads[id] = r
	}
}

func (s *Session) recall(id lease.WorktreeID) *remembered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[id]
}
