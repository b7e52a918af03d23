package audit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// queueOf is a queue of numbers, and what was told: each entry is one flush.
func queueOf(fails func(int) bool) (q *Queue[int], told *[][]int, now *time.Duration, busy *bool) {
	told, now, busy = new([][]int), new(time.Duration), new(bool)
	add := func(all []int) error {
		for _, n := range all {
			if fails != nil && fails(n) {
				return errors.New("it cannot be told")
			}
		}
		*told = append(*told, all)
		return nil
	}
	q = NewQueue(QueueConfig[int]{
		Audit: func(n int) error { return add([]int{n}) }, AuditAll: add, Stamp: func(n int) int { return n },
		Boot: func() time.Duration { return *now }, Wake: func() {}, Busy: func() bool { return *busy },
	})
	return q, told, now, busy
}

// What is noted comes before what is told at once, and the queue has a bound: who finds it full tells all of it.
func TestAQueueKeepsTheOrderAndItsBound(t *testing.T) {
	q, told, _, _ := queueOf(nil)
	for i := range QueueMost {
		q.Later(i)
		require.Len(t, q.events, i+1)
	}
	require.Empty(t, *told)
	q.Later(QueueMost)
	require.Empty(t, q.events)
	require.Len(t, *told, 2)
	require.Len(t, (*told)[0], QueueMost)
	require.Equal(t, []int{QueueMost}, (*told)[1])
	q.Later(1)
	require.NoError(t, q.Now(2))
	require.Equal(t, [][]int{{1}, {2}}, (*told)[2:])
}

// An event that cannot be told does not take the others with it.
func TestAnEventThatCannotBeToldDoesNotStopTheOthers(t *testing.T) {
	q, told, _, _ := queueOf(func(n int) bool { return n == 1 })
	for i := range 3 {
		q.Later(i)
	}
	q.All()
	require.Equal(t, [][]int{{0}, {2}}, *told)
	require.Error(t, q.Now(1))
}

// An event is told when it is due and there is nothing else to do.
func TestAnEventIsToldWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, told, now, busy := queueOf(nil)
		require.Equal(t, time.Hour, q.WhenDue(t.Context(), time.Hour))
		q.Later(1)
		require.Equal(t, QueueFor, q.WhenDue(t.Context(), time.Hour))
		*now, *busy = QueueFor, true
		require.Zero(t, q.WhenDue(t.Context(), time.Hour))
		require.Empty(t, *told)
		*busy = false
		require.Equal(t, time.Hour, q.WhenDue(t.Context(), time.Hour))
		require.Equal(t, [][]int{{1}}, *told)
	})
}
