package leases

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// What is removed, free and quiet is left out of reports; what somebody holds is not, wherever its directory is.
func TestReportsLeaveOutWorktreesThatAreOver(t *testing.T) {
	r := newLeased(t)
	r.take(t, "held")
	for _, id := range []lease.WorktreeID{"there", "removed"} {
		_, err := r.Get(id)
		require.NoError(t, err)
	}
	gone := func(id lease.WorktreeID) error {
		if id == "there" {
			return nil
		}
		return unix.ENOENT
	}
	for _, far := range []bool{false, true} {
		s := NewSurvey(r.All, far, "", gone)
		require.Equal(t, far, s.Far())
		there, over := s.Look()
		require.Len(t, there, 2)
		require.Equal(t, []lease.WorktreeID{"held", "there"}, []lease.WorktreeID{there[0].ID, there[1].ID})
		require.Equal(t, api.StateHeld, there[0].Status.State)
		require.Equal(t, map[lease.WorktreeID]bool{"removed": true}, over)
		readings, _ := s.Readings()
		require.False(t, readings[0].Created.IsZero(), "since when it is held")
		require.True(t, readings[1].Created.IsZero())
		head, j := s.Observed(there[0].Worktree)
		require.Equal(t, r.holder.ID(), head.Record.HolderID)
		require.Equal(t, lease.Held, j.State)
	}
}

// Where the records are on this machine, who asks waits for them; elsewhere, not long.
func TestOnlyFarRecordsAreNotWaitedFor(t *testing.T) {
	r := newLeased(t)
	w, _ := r.take(t, "main")
	near, far := NewSurvey(r.All, false, "", nil), NewSurvey(r.All, true, "etcd at e1", nil)
	require.Empty(t, near.LookAll(r.All()))
	seen, _ := w.cache.last()
	require.True(t, seen.at.IsZero(), "nothing need be remembered")
	synctest.Test(t, func(t *testing.T) { // who waits, waits at once
		begun, ended := NewSurvey(nil, false, "", nil).Ask(func() { time.Sleep(time.Hour) })
		require.True(t, begun && ended)
	})
	stuck := make(chan bool)
	begun, ended := far.Ask(func() { <-stuck })
	require.True(t, begun)
	require.False(t, ended)
	require.False(t, near.InTime(func() { <-stuck }), "who only looks waits for no records")
	close(stuck)
	require.True(t, near.InTime(func() {}))
	require.Contains(t, near.Silent(w).Message, "the file system of the lease records does not answer")
	require.Contains(t, far.Silent(w).Message, "etcd at e1 does not answer, so nobody but who holds worktree main may write to it")
	require.False(t, w.Silent())
}
