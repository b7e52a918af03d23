package lease

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A steal of what has expired makes a new epoch: the next token, the next
// acquisition.
func TestAStealOfAnExpiredLeaseGrantsTheNextToken(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.Stop()
	m.Steal(b)
	_, second := m.HeadClaim("")
	require.Equal(t, first.TokenNumber(t)+1, second.TokenNumber(t))
	require.Equal(t, first.AcquireSeq+1, second.AcquireSeq)
	require.NotEqual(t, first.HolderID, second.HolderID)
	b.Stop()
	var exit int
	harness.EventuallyNoted(t, "exec --steal takes over", func() (bool, string) {
		var errs string
		_, errs, exit = m.CLI("exec", "--steal", m.Mountpoint, "--", "sh", "-c", "echo stolen >"+m.At("f"))
		require.Contains(t, []int{0, harness.ExitConflict, harness.ExitExpired}, exit, errs)
		return exit == 0, errs
	})
	_, third := m.HeadClaim("")
	require.Equal(t, second.TokenNumber(t)+1, third.TokenNumber(t))
	require.Equal(t, second.AcquireSeq+1, third.AcquireSeq)
	require.True(t, third.Released)
	require.Equal(t, "stolen\n", harness.ReadText(t, m.Behind("f")))
	for _, former := range []*harness.Actor{a, b} {
		former.Resume()
		former.Fails(m.Put("f"), "EROFS")
	}
}

// race lets all actors run a lock command at the same time, each in a process
// of its own, and returns who won.
func race(m *harness.Mount, verb string, actors []*harness.Actor, options ...string) (winners []*harness.Actor, said []string) {
	m.T.Helper()
	exits, texts := make([]int, len(actors)), make([]string, len(actors))
	var run sync.WaitGroup
	for i, a := range actors {
		run.Go(func() {
			out, errs, exit := m.CLI(append(harness.LockArgs(verb, a, m.Source), options...)...)
			exits[i], texts[i] = exit, fmt.Sprintf("%s: exit %d: %s%s", a.Name, exit, out, errs)
		})
	}
	run.Wait()
	for i, a := range actors {
		if exits[i] == 0 {
			winners = append(winners, a)
		} else {
			require.Contains(m.T, []int{harness.ExitConflict, harness.ExitExpired}, exits[i], texts[i])
		}
	}
	return winners, texts
}

func startActors(t *testing.T, n int) (all []*harness.Actor) {
	for i := range n {
		all = append(all, harness.StartActor(t, fmt.Sprint("stealer ", i)))
	}
	return all
}

// Eight processes steal at the same time: one of them wins, each time, and its
// token is new.
func TestOfEightStealsAtOnceOneWins(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, InPlace: true, Prepare: harness.WithFiles("f")})
	holder, stealers := harness.StartActor(t, "holder"), startActors(t, 8)
	last := m.Acquire(holder)
	tokens := map[uint64]bool{last.TokenNumber(t): true}
	for range 3 {
		holder.Stop()
		m.AwaitStealable("")
		winners, said := race(m, "steal", stealers)
		require.Len(t, winners, 1, "%v", said)
		_, now := m.HeadClaim("")
		require.False(t, tokens[now.TokenNumber(t)])
		require.Greater(t, now.TokenNumber(t), last.TokenNumber(t))
		require.Equal(t, last.AcquireSeq+1, now.AcquireSeq, "one acquisition in between, no more")
		tokens[now.TokenNumber(t)], last = true, now
		winners[0].OK(m.Put("f"))
		for _, a := range stealers {
			if a != winners[0] {
				a.Fails(m.Put("f"), "EROFS")
			}
		}
		holder.Resume()
		holder.Fails(m.Put("f"), "EROFS")
		holder = winners[0]
		stealers = append(without(stealers, holder), harness.StartActor(t, "another"))
	}
}

func without(all []*harness.Actor, one *harness.Actor) (rest []*harness.Actor) {
	for _, a := range all {
		if a != one {
			rest = append(rest, a)
		}
	}
	return rest
}

// The same without a daemon to order them: eight processes on the records. Nobody renews
// what they win, so on a slow machine a second may win when the first's lease is over, and
// not before.
func TestOfEightStealsAtOnceWithoutAMountOneWins(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	config := m.WriteConfig("policy.yaml", harness.Hasty.YAML())
	options := []string{"--control", m.LockDir, "--config", config}
	actors := startActors(t, 8)
	var last harness.Record
	var token uint64
	for round := range 3 {
		verb := "steal"
		if round == 0 {
			verb = "acquire"
		}
		winners, said := race(m, verb, actors, options...)
		for _, won := range grants(t, winners, said) {
			require.Greater(t, won.TokenNumber(t), token)
			require.Equal(t, last.AcquireSeq+1, won.AcquireSeq)
			require.False(t, won.RenewedAt.Before(last.End()), "taken at %s, while the one before lasted until %s", won.RenewedAt, last.End())
			token, last = won.TokenNumber(t), won
		}
		_, now := m.HeadClaim("")
		require.Equal(t, last.HolderID, now.HolderID, "the last winner holds")
		m.AwaitStealable("") // nobody renews without a mount
	}
}

// grants are the records of those who won, in the order of their tokens: there is one at least.
func grants(t *testing.T, winners []*harness.Actor, said []string) (all []harness.Record) {
	t.Helper()
	require.NotEmpty(t, winners, "%v", said)
	for _, text := range said {
		if _, answer, won := strings.Cut(text, ": exit 0: "); won {
			var r harness.Record
			require.NoError(t, json.NewDecoder(strings.NewReader(answer)).Decode(&r), answer)
			all = append(all, r)
		}
	}
	require.Len(t, all, len(winners), "%v", said)
	slices.SortFunc(all, func(a, b harness.Record) int { return cmp.Compare(a.TokenNumber(t), b.TokenNumber(t)) })
	return all
}
