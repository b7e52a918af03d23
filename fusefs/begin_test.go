package fusefs

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// asked is a policy that notes what it hears, and refuses on demand.
type asked struct {
	mu            sync.Mutex
	ask, plan     bool // it refuses
	planned, done map[gate.Op]int
	after         int
}

var errNotNow = unix.EDQUOT // no answer of anything else here

func (a *asked) does(f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return f()
}

func refuseIf(no bool) error {
	if no {
		return errNotNow
	}
	return nil
}

func (a *asked) Ask(*engine.Mutation) error { return a.does(func() error { return refuseIf(a.ask) }) }

func (a *asked) Plan(m *engine.Mutation, p *engine.Plan) error {
	return a.does(func() error {
		a.planned[m.Op]++
		p.Judge(func() error { return a.does(func() error { return refuseIf(a.plan) }) })
		return nil
	})
}

func (a *asked) Done(m *engine.Mutation) { _ = a.does(func() error { a.done[m.Op]++; return nil }) }
func (a *asked) After(*engine.Mutation)  { _ = a.does(func() error { a.after++; return nil }) }

func (a *asked) set(ask, plan bool) {
	_ = a.does(func() error {
		a.ask, a.plan, a.after = ask, plan, 0
		a.planned, a.done = make(map[gate.Op]int), make(map[gate.Op]int)
		return nil
	})
}

func (a *asked) heard(op gate.Op) (planned, done, after int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.planned[op], a.done[op], a.after
}

// Whatever changes the backing store asks the policies of the mount, and leaves no trace if one refuses. What was made is told to them.
func TestEveryChangeAsksThePolicies(t *testing.T) {
	a := &asked{}
	a.set(false, false)
	m := mounted(t, layout.Tree, withCache(t), func(o *Options) { o.policies = engine.Policies{a} })
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("cache/f"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	from, err := os.Open(m.at("cache/d/f"))
	require.NoError(t, err)
	defer from.Close()
	for _, c := range []struct {
		op       gate.Op
		byHandle bool // of a handle, which is asked for itself when it is opened
		call     func() error
	}{
		{gate.OpCreate, false, func() error { return os.WriteFile(m.at("new"), nil, 0o644) }},
		{gate.OpMkdir, false, func() error { return os.Mkdir(m.at("newdir"), 0o755) }},
		{gate.OpSymlink, false, func() error { return os.Symlink("x", m.at("link")) }},
		{gate.OpMknod, false, func() error { return unix.Mkfifo(m.at("fifo"), 0o644) }},
		{gate.OpLink, false, func() error { return os.Link(m.at("cache/d/f"), m.at("second")) }},
		{gate.OpRename, false, func() error { return os.Rename(m.at("second"), m.at("third")) }},
		{gate.OpUnlink, false, func() error { return os.Remove(m.at("third")) }},
		{gate.OpRmdir, false, func() error { return unix.Rmdir(m.at("newdir")) }},
		{gate.OpSetAttr, false, func() error { return os.Chmod(m.at("src"), 0o700) }},
		{gate.OpSetAttr, false, func() error { return os.Truncate(m.at("cache/f"), 9) }},
		{gate.OpSetXAttr, false, func() error { return unix.Setxattr(m.at("cache/f"), "user.x", []byte("y"), 0) }},
		{gate.OpRemoveXAttr, false, func() error { return unix.Removexattr(m.at("cache/f"), "user.x") }},
		{gate.OpOpen, false, func() error {
			w, err := os.OpenFile(m.at("cache/f"), os.O_WRONLY, 0)
			return errors.Join(err, w.Close())
		}},
		{gate.OpTmpfile, false, func() error {
			fd, err := unix.Open(m.at("cache"), unix.O_TMPFILE|unix.O_WRONLY, 0o600)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}},
		{gate.OpWrite, true, func() error { _, err := f.WriteAt([]byte("x"), 0); return err }},
		{gate.OpSetAttr, true, func() error { return f.Truncate(3) }},
		{gate.OpFallocate, true, func() error { return unix.Fallocate(int(f.Fd()), 0, 0, 20) }},
		{gate.OpCopyFileRange, true, func() error {
			_, err := unix.CopyFileRange(int(from.Fd()), new(int64), int(f.Fd()), new(int64), 1, 0)
			return err
		}},
	} {
		before := shown(t, m.source)
		for _, ask := range []bool{true, false} {
			if ask && c.byHandle {
				continue
			}
			a.set(ask, !ask)
			require.ErrorIs(t, c.call(), errNotNow, "%v, asked first: %v", c.op, ask)
			require.Equal(t, before, shown(t, m.source), "%v", c.op)
			_, done, after := a.heard(c.op)
			require.Zero(t, done+after, c.op)
		}
		a.set(false, false)
		require.NoError(t, c.call(), c.op)
		planned, done, after := a.heard(c.op)
		require.NotZero(t, planned, c.op)
		if c.op != gate.OpOpen { // which changes nothing yet
			require.Equal(t, planned, done, "%v", c.op)
			require.NotZero(t, after, c.op)
		}
	}
}

// shown is what a directory shows of all that lies in it.
func shown(t *testing.T, dir string) string {
	t.Helper()
	out, err := sh(t, dir, `find . -printf "%p %y %m %s %n %l\n" | sort; find . -type f -exec cat {} +`)
	require.NoError(t, err, out)
	return out
}
