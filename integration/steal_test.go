package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A steal of what has expired makes a new epoch: the next token, the next
// acquisition.
func TestStealThroughTheDaemon(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.stop()
	m.steal(b)
	_, second := m.headClaim("")
	require.Equal(t, first.token(t)+1, second.token(t))
	require.Equal(t, first.AcquireSeq+1, second.AcquireSeq)
	require.NotEqual(t, first.HolderID, second.HolderID)
	b.stop()
	var exit int
	eventuallyNoted(t, "exec --steal takes over", func() (bool, string) {
		var errs string
		_, errs, exit = m.CLI("exec", "--steal", m.Mountpoint, "--", "sh", "-c", "echo stolen >"+m.At("f"))
		require.Contains(t, []int{0, exitConflict, exitExpired}, exit, errs)
		return exit == 0, errs
	})
	_, third := m.headClaim("")
	require.Equal(t, second.token(t)+1, third.token(t))
	require.Equal(t, second.AcquireSeq+1, third.AcquireSeq)
	require.True(t, third.Released)
	require.Equal(t, "stolen\n", readText(t, m.Behind("f")))
	for _, former := range []*actor{a, b} {
		former.resume()
		former.fails(m.put("f"), "EROFS")
	}
}

// exitExpired is E_LOCK_EXPIRED: over, but skew and grace have not passed.
const exitExpired = 11

// race lets all actors run a lock command at the same time, each in a process
// of its own, and returns who won.
func (m *mount) race(verb string, actors []*actor, options ...string) (winners []*actor, said []string) {
	m.t.Helper()
	exits, texts := make([]int, len(actors)), make([]string, len(actors))
	var run sync.WaitGroup
	for i, a := range actors {
		run.Go(func() {
			out, errs, exit := m.CLI(append(lockArgs(verb, a, m.Source), options...)...)
			exits[i], texts[i] = exit, fmt.Sprintf("%s: exit %d: %s%s", a.name, exit, out, errs)
		})
	}
	run.Wait()
	for i, a := range actors {
		if exits[i] == 0 {
			winners = append(winners, a)
		} else {
			require.Contains(m.t, []int{exitConflict, exitExpired}, exits[i], texts[i])
		}
	}
	return winners, texts
}

func startActors(t *testing.T, n int) (all []*actor) {
	for i := range n {
		all = append(all, startActor(t, fmt.Sprint("stealer ", i)))
	}
	return all
}

// Eight processes steal at the same time: one of them wins, each time, and its
// token is new.
func TestStealersOneWinner(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, inPlace: true, prepare: withFiles("f")})
	holder, stealers := startActor(t, "holder"), startActors(t, 8)
	last := m.acquire(holder)
	tokens := map[uint64]bool{last.token(t): true}
	for range 3 {
		holder.stop()
		m.awaitStealable("")
		winners, said := m.race("steal", stealers)
		require.Len(t, winners, 1, "%v", said)
		_, now := m.headClaim("")
		require.False(t, tokens[now.token(t)])
		require.Greater(t, now.token(t), last.token(t))
		require.Equal(t, last.AcquireSeq+1, now.AcquireSeq, "one acquisition in between, no more")
		tokens[now.token(t)], last = true, now
		winners[0].ok(m.put("f"))
		for _, a := range stealers {
			if a != winners[0] {
				a.fails(m.put("f"), "EROFS")
			}
		}
		holder.resume()
		holder.fails(m.put("f"), "EROFS")
		holder = winners[0]
		stealers = append(without(stealers, holder), startActor(t, "another"))
	}
}

func without(all []*actor, one *actor) (rest []*actor) {
	for _, a := range all {
		if a != one {
			rest = append(rest, a)
		}
	}
	return rest
}

// The same without a daemon to order them: eight processes on the records.
func TestStealersWithoutAMount(t *testing.T) {
	m := prepareMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	config := m.writeConfig("policy.yaml", "lease_duration: 900ms\nrenew_interval: 200ms\nmax_clock_skew: 100ms\nsteal_grace: 50ms\n")
	options := []string{"--control", m.LockDir, "--config", config}
	actors := startActors(t, 8)
	seen := map[uint64]bool{}
	var last record
	var token uint64
	for round := range 3 {
		verb := "steal"
		if round == 0 {
			verb = "acquire"
		}
		winners, said := m.race(verb, actors, options...)
		require.Len(t, winners, 1, "%v", said)
		_, now := m.headClaim("")
		require.False(t, seen[now.token(t)])
		require.Greater(t, now.token(t), token)
		require.Equal(t, last.AcquireSeq+1, now.AcquireSeq)
		token, last = now.token(t), now
		seen[token] = true
		m.awaitStealable("") // nobody renews without a mount
	}
}
