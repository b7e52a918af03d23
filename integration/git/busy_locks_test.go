package git

import (
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Lock files of processes that end at once are removed while others change names in the same directory, which
// the kernel has locked for each of these changes. Nobody waits for anybody for ever.
func TestLockFilesOfEndedProcessesAreRemovedFromABusyDirectory(t *testing.T) {
	g := newGround(t, anOrdinaryOne, "--on-free", "allow")
	var over atomic.Bool
	var all sync.WaitGroup
	for n := range 4 {
		a, name := harness.StartActor(t, fmt.Sprint("renamer ", n)), g.At(".git", fmt.Sprint("index.z", n))
		all.Go(func() {
			for !over.Load() {
				_, _ = a.Try(harness.Command{Op: "writefile", Path: name + ".lock", Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644})
				_, _ = a.Try(harness.Command{Op: "rename", Path: name + ".lock", To: name})
			}
		})
	}
	all.Go(func() {
		defer over.Store(true)
		for n := range harness.Rounds(300) {
			if err := exec.Command("sh", "-c", `: >"$1"`, "sh", g.At(".git", fmt.Sprintf("index.q%d.lock", n))).Run(); err != nil {
				t.Error(err)
			}
		}
	})
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * harness.Patience):
		over.Store(true)
		g.Abort() // otherwise nobody could end these processes, not even by SIGKILL
		<-ended
		t.Fatal("changes of names in .git wait for ever")
	}
	harness.Eventually(t, "the lock files of processes that have ended are gone", func() bool {
		return len(harness.GitLitter(t, g.At(".git"))) == 0
	})
}
