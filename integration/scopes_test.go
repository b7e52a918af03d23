package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// writer is one attempt to write by somebody; it returns whether it passed.
type writer struct {
	name  string
	write func(path string) (passed bool, said string)
}

// itself writes as the actor does.
func itself(a *actor) writer {
	return writer{a.name, func(path string) (bool, string) {
		r := a.do(command{Op: "writefile", Path: path, Flags: unix.O_CREAT, Mode: 0o666, Data: []byte(a.name)})
		return r.Errno == "", r.Errno
	}}
}

// childOf writes as a child of the actor, in its session or in one of its own.
func childOf(a *actor, how string) writer {
	return writer{a.name + "'s child " + how, func(path string) (bool, string) {
		exit, said := a.run("/", how, "echo child >"+path)
		return exit == 0, said
	}}
}

// scopeCase is a scope with its members and strangers, made when it is played.
type scopeCase struct {
	scope   string
	holder  *actor
	members []writer
	others  []writer
}

var scopeCases = map[string]func(t *testing.T) scopeCase{
	"tree": func(t *testing.T) scopeCase {
		a, b := startActor(t, "a"), startActor(t, "b")
		return scopeCase{"tree", a, []writer{itself(a), childOf(a, ""), childOf(a, "setsid")}, []writer{itself(b), childOf(b, "")}}
	},
	"session": func(t *testing.T) scopeCase {
		a, b := startActor(t, "a"), startActor(t, "b")
		return scopeCase{"session", a, []writer{itself(a), childOf(a, "")}, []writer{childOf(a, "setsid"), itself(b)}}
	},
	"user": func(t *testing.T) scopeCase {
		a, b := startActorAs(t, "a", identity{uid: 1000, gid: 1000}), startActorAs(t, "b", identity{uid: 1000, gid: 1002})
		c := startActorAs(t, "c", identity{uid: 1001, gid: 1000})
		return scopeCase{"user", a, []writer{itself(a), itself(b), childOf(b, "setsid")}, []writer{itself(c), itself(startActor(t, "root"))}}
	},
	"cgroup": func(t *testing.T) scopeCase {
		group := newCgroup(t)
		a, b, c := startActor(t, "a"), startActor(t, "b"), startActor(t, "c")
		group.take(a)
		group.below(t, "sub").take(b)
		// A name that only begins alike is another group.
		newCgroupAt(t, string(group)+"x").take(c)
		return scopeCase{"cgroup", a, []writer{itself(a), itself(b), childOf(a, "setsid")}, []writer{itself(startActor(t, "d")), itself(c)}}
	},
	"mount": func(t *testing.T) scopeCase {
		a, b := startActor(t, "a"), startActorAs(t, "b", identity{uid: 1001, gid: 1001})
		return scopeCase{"mount", a, []writer{itself(a), itself(b), childOf(b, "setsid")}, nil}
	},
}

// TestScopes: members pass and strangers are refused, for a lease taken on
// purpose with --scope, on a mount with --scope, and for one taken by the
// first write.
func TestScopes(t *testing.T) {
	for name, make := range scopeCases {
		t.Run(name+"/of the lease", func(t *testing.T) {
			m := newMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot})
			c := make(t)
			m.cliOK("lock", "acquire", "--scope", name, "--pid", strconv.Itoa(c.holder.pid()), m.Mountpoint)
			m.playScope(t, c)
		})
		t.Run(name+"/of the mount", func(t *testing.T) {
			m := newMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot, extra: []string{"--scope", name}})
			c := make(t)
			m.acquire(c.holder)
			m.playScope(t, c)
		})
		t.Run(name+"/by the first write", func(t *testing.T) {
			m := newMount(t, mountOptions{prepare: withOpenRoot, extra: []string{"--scope", name}})
			c := make(t)
			c.holder.ok(m.put("first"))
			st := m.worktreeStatus("source")
			require.True(t, st.Auto)
			m.playScope(t, c)
		})
	}
}

func (m *mount) playScope(t *testing.T, c scopeCase) {
	t.Helper()
	_, r := m.headClaim("")
	var stored struct{ Scope string }
	file, _ := m.headClaim("")
	requireJSON(t, readText(t, file), &stored)
	require.Equal(t, c.scope, stored.Scope)
	for round := range 2 { // the second by what is remembered of the first
		for i, w := range c.members {
			passed, said := w.write(m.At(fmt.Sprint("member", round, i)))
			require.True(t, passed, "%s: %s", w.name, said)
		}
		before := m.digest()
		for i, w := range c.others {
			passed, said := w.write(m.At(fmt.Sprint("other", round, i)))
			require.False(t, passed, w.name)
			require.Regexp(t, "EROFS|Read-only file system", said, w.name)
			passed, said = w.write(m.At("member00"))
			require.False(t, passed, w.name)
			require.Regexp(t, "EROFS|Read-only file system|EACCES|Permission denied", said, w.name)
		}
		require.Empty(t, before.diff(m.digest()))
	}
	_, now := m.headClaim("")
	require.Equal(t, r.token(t), now.token(t), "one lease for all members")
}

// cgroup is the directory of a group in the unified hierarchy.
type cgroup string

// unifiedCgroup is where cgroup v2 is mounted; it is mounted privately if it
// is nowhere.
func unifiedCgroup(t *testing.T) string {
	t.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	require.NoError(t, err)
	for _, i := range infos {
		if i.Root == "/" {
			return i.Mountpoint
		}
	}
	dir := newBase(t)
	require.NoError(t, unix.Mount("none", dir, "cgroup2", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	return dir
}

func newCgroup(t *testing.T) cgroup {
	t.Helper()
	return newCgroupAt(t, filepath.Join(unifiedCgroup(t), "jvsfs-it-"+strconv.Itoa(os.Getpid())))
}

// newCgroupAt makes a group; at the end of the test what is in it goes to the
// root group, and it is removed.
func newCgroupAt(t *testing.T, dir string) cgroup {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		eventuallyNoted(t, "the group is empty and removed", func() (bool, string) {
			err := os.Remove(dir)
			return err == nil, fmt.Sprint(err)
		})
	})
	return cgroup(dir)
}

func (g cgroup) below(t *testing.T, name string) cgroup {
	return newCgroupAt(t, filepath.Join(string(g), name))
}

// take moves an actor into the group, and ends it before the group is removed.
func (g cgroup) take(a *actor) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte(strconv.Itoa(a.pid())), 0o644))
	a.t.Cleanup(a.end)
}
