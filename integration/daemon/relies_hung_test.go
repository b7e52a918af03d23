package daemon

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// farSyncs makes the syncs of files hang or fail that were made under a name that begins with "hung".
var farSyncs hanging

type hanging struct {
	of   sync.Map // inodes
	mu   sync.Mutex
	over chan struct{} // nil: nothing hangs

	fails bool // with EIO
}

func (h *hanging) note(name string, id uint64) {
	if strings.HasPrefix(name, "hung") {
		h.of.Store(id, true)
	}
}

func (h *hanging) wait(id uint64) (fails bool) {
	h.mu.Lock()
	over, fails := h.over, h.fails
	h.mu.Unlock()
	_, is := h.of.Load(id)
	if is && over != nil {
		<-over
	}
	return is && fails
}

func (h *hanging) set(hang bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		close(h.over)
		h.over = nil
	}
	if hang {
		h.over = make(chan struct{})
	}
}

func init() {
	operation.Add("far syncs hang", func(_ *operation.Box, c operation.Command) error {
		farSyncs.set(c.Flags != 0)
		return nil
	})
	operation.Add("far syncs fail", func(_ *operation.Box, _ operation.Command) error {
		farSyncs.mu.Lock()
		defer farSyncs.mu.Unlock()
		farSyncs.fails = true
		return nil
	})
}

// While the store syncs nothing, files are closed, and everything else goes on, however many closed files wait to be synced. The lease is given
// back when they are, and not before.
func TestClosedFilesThatCannotBeSyncedDelayNobodyElse(t *testing.T) {
	const files = 840 // more than there are readers
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	a := harness.StartActor(t, "writer")
	m.Acquire(a)
	line := []byte("line\n")
	server.OK(harness.Command{Op: "far syncs hang", Flags: 1})
	for i := range files {
		a.OK(harness.Command{Op: "writefile", Path: m.At("hung" + strconv.Itoa(i)), Flags: unix.O_CREAT, Mode: 0o644, Data: line})
	}
	a.OK(harness.Command{Op: "writefile", Path: m.At("other"), Flags: unix.O_CREAT, Mode: 0o644, Data: line})
	a.OK(harness.Command{Op: "readfile", Path: m.At("other")})
	a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	given := server.OK(harness.Command{Op: "far given back"}).Vals
	released := make(chan struct{})
	go func() { defer close(released); m.Release(a) }()
	a.OK(harness.Command{Op: "readfile", Path: m.At("other")})
	require.Equal(t, given[0], server.OK(harness.Command{Op: "far given back"}).Vals[0])
	server.OK(harness.Command{Op: "far syncs hang"})
	<-released
	require.Greater(t, server.OK(harness.Command{Op: "far given back"}).Vals[0], given[0])
}

// What could not be brought to the store may get there yet. So the lease is not given back: whoever takes it over on another host has this one cut
// off first.
func TestALeaseIsKeptWhileItsWritesMayStillReachTheStore(t *testing.T) {
	m, server := farPrepared(t, nil)
	m.Opts.Extra = []string{"--config", reliesOnFence(m)}
	m.Mount()
	server.OK(harness.Command{Op: "far syncs fail"})
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", `echo text >"$0/hung"`, m.Mountpoint)
	require.Equal(t, 15, exit, errs)
	require.Contains(t, errs, "token 1 runs out, and whoever takes it over cuts this host off")
	require.Regexp(t, `held_elsewhere +1 `, m.MustCLI("status"))
	require.Contains(t, m.LogTail(), "what was written to /hung under token 1 may not have reached the store: input/output error")
}
