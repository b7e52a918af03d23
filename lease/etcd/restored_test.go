package etcd

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// An answer that is older than what was known before its request was sent is of an etcd that has gone back. One that only comes late is not.
func TestAnAnswerFromThePastEndsWhatIsHeld(t *testing.T) {
	header := func(cluster uint64, revision int64) *pb.ResponseHeader {
		return &pb.ResponseHeader{ClusterId: cluster, Revision: revision}
	}
	fresh := func() (*Session, *tenure) {
		s := &Session{counts: newCounts(), tenures: map[*tenure]struct{}{}, heads: map[lease.WorktreeID]*remembered{}, now: &granted{}}
		held := &tenure{a: &authority{}, s: s, rec: &record.Record{}}
		s.tenures[held] = struct{}{}
		require.NoError(t, s.note(seen{}, header(1, 10)))
		return s, held
	}
	s, held := fresh()
	require.NoError(t, s.note(seen{1, 9}, header(1, 9)), "it was overtaken by another answer")
	require.Equal(t, seen{1, 10}, s.seen)
	require.NoError(t, held.over)
	for _, h := range []*pb.ResponseHeader{header(1, 9), header(2, 11)} {
		s, held = fresh()
		require.ErrorIs(t, s.note(seen{1, 10}, h), errRestored)
		require.ErrorContains(t, held.over, "restored")
		require.Nil(t, s.now)
		require.NoError(t, s.note(s.seen, h), "it goes on with what is there")
	}
}
