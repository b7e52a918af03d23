package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// mayRunOn is where each thread of a process may run, without those that have ended meanwhile.
func mayRunOn(t *testing.T, pid int) map[string]string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(t, err)
	on := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, after, found := strings.Cut(string(text), "\nCpus_allowed_list:\t")
		require.True(t, found)
		on[file], _, _ = strings.Cut(after, "\n")
	}
	return on
}

// While one thread calls alone the daemon may keep one of its own beside it. A thread that is kept on a processor could not go on when
// somebody else takes that one for himself, so nobody is kept anywhere once the calls are over. So it is on /dev/fuse, whatever
// the other stories run on: threads of a ring belong to their processors.
func TestNoThreadIsKeptOnAProcessorWhenNobodyCalls(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--transport", "dev"}, Prepare: harness.WithFiles("f")})
	pids := harness.ProcessesOf(m.Bin)
	require.NotEmpty(t, pids)
	before := map[string]bool{}
	for _, on := range mayRunOn(t, pids[0]) {
		before[on] = true
	}
	require.Len(t, before, 1, "all threads of a new mount may run anywhere")
	a := harness.StartActor(t, "a")
	for range 3 {
		exit, said := a.Run(m.At(), "", "dd if=/dev/zero of=f bs=4k count=5000 conv=notrunc && stat f")
		require.Zero(t, exit, said)
		harness.EventuallyNoted(t, "every thread may run anywhere", func() (bool, string) {
			for _, pid := range harness.ProcessesOf(m.Bin) {
				for thread, on := range mayRunOn(t, pid) {
					if !before[on] {
						return false, thread + " may run on " + on
					}
				}
			}
			return true, ""
		})
	}
}
