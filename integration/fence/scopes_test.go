package fence

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// writer is one attempt to write by somebody; it returns whether it passed.
type writer struct {
	name  string
	write func(path string) (passed bool, said string)
}

// itself writes as the actor does.
func itself(a *harness.Actor) writer {
	return writer{a.Name, func(path string) (bool, string) {
		r := a.Do(harness.Command{Op: "writefile", Path: path, Flags: unix.O_CREAT, Mode: 0o666, Data: []byte(a.Name)})
		return r.Errno == "", r.Errno
	}}
}

// childOf writes as a child of the actor, in its session or in one of its own.
func childOf(a *harness.Actor, how string) writer {
	return writer{a.Name + "'s child " + how, func(path string) (bool, string) {
		exit, said := a.Run("/", how, "echo child >"+path)
		return exit == 0, said
	}}
}

// scopeCase is a scope with its members and strangers, made when it is played.
type scopeCase struct {
	scope   string
	holder  *harness.Actor
	members []writer
	others  []writer
}

var scopeCases = map[string]func(t *testing.T) scopeCase{
	"tree": func(t *testing.T) scopeCase {
		a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
		return scopeCase{"tree", a, []writer{itself(a), childOf(a, ""), childOf(a, "setsid")}, []writer{itself(b), childOf(b, "")}}
	},
	"session": func(t *testing.T) scopeCase {
		a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
		return scopeCase{"session", a, []writer{itself(a), childOf(a, "")}, []writer{childOf(a, "setsid"), itself(b)}}
	},
	"user": func(t *testing.T) scopeCase {
		a, b := harness.StartActorAs(t, "a", harness.Identity{UID: 1000, GID: 1000}), harness.StartActorAs(t, "b", harness.Identity{UID: 1000, GID: 1002})
		c := harness.StartActorAs(t, "c", harness.Identity{UID: 1001, GID: 1000})
		return scopeCase{"user", a, []writer{itself(a), itself(b), childOf(b, "setsid")}, []writer{itself(c), itself(harness.StartActor(t, "root"))}}
	},
	"cgroup": func(t *testing.T) scopeCase {
		group := harness.NewCgroup(t)
		a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
		group.Take(a)
		group.Below(t, "sub").Take(b)
		// A name that only begins alike is another group.
		harness.NewCgroupAt(t, string(group)+"x").Take(c)
		return scopeCase{"cgroup", a, []writer{itself(a), itself(b), childOf(a, "setsid")}, []writer{itself(harness.StartActor(t, "d")), itself(c)}}
	},
	"mount": func(t *testing.T) scopeCase {
		a, b := harness.StartActor(t, "a"), harness.StartActorAs(t, "b", harness.Identity{UID: 1001, GID: 1001})
		return scopeCase{"mount", a, []writer{itself(a), itself(b), childOf(b, "setsid")}, nil}
	},
}

// TestEachScopeLetsItsMembersWriteAndNobodyElse: members pass and strangers are refused, for a lease taken on
// purpose with --scope, on a mount with --scope, and for one taken by the
// first write.
func TestEachScopeLetsItsMembersWriteAndNobodyElse(t *testing.T) {
	for name, make := range scopeCases {
		t.Run(name+"/of the lease", func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
			c := make(t)
			m.MustCLI("lock", "acquire", "--scope", name, "--pid", strconv.Itoa(c.holder.PID()), m.Mountpoint)
			playScope(m, t, c)
		})
		t.Run(name+"/of the mount", func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot, Extra: []string{"--scope", name}})
			c := make(t)
			m.Acquire(c.holder)
			playScope(m, t, c)
		})
		t.Run(name+"/by the first write", func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithOpenRoot, Extra: []string{"--scope", name}})
			c := make(t)
			c.holder.OK(m.Put("first"))
			st := m.WorktreeStatus("source")
			require.True(t, st.Auto)
			playScope(m, t, c)
		})
	}
}

func playScope(m *harness.Mount, t *testing.T, c scopeCase) {
	t.Helper()
	_, r := m.HeadClaim("")
	var stored struct{ Scope string }
	file, _ := m.HeadClaim("")
	harness.RequireJSON(t, harness.ReadText(t, file), &stored)
	require.Equal(t, c.scope, stored.Scope)
	for round := range 2 { // the second by what is remembered of the first
		for i, w := range c.members {
			passed, said := w.write(m.At(fmt.Sprint("member", round, i)))
			require.True(t, passed, "%s: %s", w.name, said)
		}
		before := m.Digest()
		for i, w := range c.others {
			passed, said := w.write(m.At(fmt.Sprint("other", round, i)))
			require.False(t, passed, w.name)
			require.Regexp(t, "EROFS|Read-only file system", said, w.name)
			passed, said = w.write(m.At("member00"))
			require.False(t, passed, w.name)
			require.Regexp(t, "EROFS|Read-only file system|EACCES|Permission denied", said, w.name)
		}
		require.Empty(t, before.Diff(m.Digest()))
	}
	_, now := m.HeadClaim("")
	require.Equal(t, r.TokenNumber(t), now.TokenNumber(t), "one lease for all members")
}
