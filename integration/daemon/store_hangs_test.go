package daemon

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Who asks about a store that hangs is told so, however many ask, and the threads of the daemon that wait for it do not grow with them: by
// one for each, a loop in some user's shell would end the daemon.
func TestManyQuestionsAboutAHangingStoreTakeNoMoreThreads(t *testing.T) {
	m, server := farMount(t, nil)
	a, b := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	m.Acquire(a)
	b.Fails(m.Put("f"), "EROFS")
	daemon := m.Daemons()[0]
	threads := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", daemon))
		require.NoError(t, err)
		return len(all)
	}
	before := threads()
	t.Cleanup(func() { _ = unix.Kill(server.PID(), unix.SIGCONT) }) // before the actors', whatever the test came to
	server.Stop()
	type answer struct {
		said string
		exit int
	}
	for range 5 {
		all, answers := sync.WaitGroup{}, make(chan answer, 12)
		for range cap(answers) {
			all.Go(func() {
				_, said, exit := m.CLI("explain", m.At("f"))
				answers <- answer{said, exit}
			})
		}
		all.Wait()
		for range cap(answers) {
			x := <-answers
			require.Equal(t, harness.ExitStore, x.exit, x.said)
			require.Contains(t, x.said, "does not answer")
		}
	}
	said, errs, _ := m.CLI("explain", "--since", "10m", "--pid", harness.PIDOf(b)) // what it was refused, and whether it would be now
	require.Contains(t, said+errs, "is being written by")
	require.Contains(t, said+errs, "does not answer")
	t.Logf("threads: %d, then %d", before, threads())
	require.LessOrEqual(t, threads()-before, 30)
	server.Resume()
	harness.EventuallyNoted(t, "it answers", func() (bool, string) {
		out, errs, exit := m.CLI("explain", "--pid", harness.PIDOf(a), m.At("f"))
		return exit == 0, out + errs
	})
}
