package daemon

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// farSyncs makes the syncs of files hang that were made under a name that begins with "hung".
var farSyncs hanging

type hanging struct {
	of   sync.Map // inodes
	mu   sync.Mutex
	over chan struct{} // nil: nothing hangs
}

func (h *hanging) note(name string, id uint64) {
	if strings.HasPrefix(name, "hung") {
		h.of.Store(id, true)
	}
}

func (h *hanging) wait(id uint64) {
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	if _, is := h.of.Load(id); is && over != nil {
		<-over
	}
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
	harness.ActorOps["far syncs hang"] = func(_ *harness.Stage, c harness.Command) error {
		farSyncs.set(c.Flags != 0)
		return nil
	}
}

// While the store syncs nothing, files are closed, and everything else goes on, however many closed files wait to be synced. The lease is given
// back when they are, and not before.
func TestClosedFilesThatCannotBeSyncedAreInNobodysWay(t *testing.T) {
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
