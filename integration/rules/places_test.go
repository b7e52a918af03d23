package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A directory's place is remembered until it moves. Whoever stands in it, or has it open, is under the rules of where it is now: at
// once if it was moved through the mount, as soon as inotify tells if it was moved past it.
func TestRulesFollowADirectoryThatMoves(t *testing.T) {
	for _, c := range []struct {
		name         string
		from, to     string // the directory that is moved
		work         string // where something is changed
		past, guards bool   // whether the rules guard the new place, and not the old one
	}{
		{"into what a lock guards", "free/d", "repos/a/d", "free/d", false, true},
		{"past the mount", "free/d", "repos/a/d", "free/d", true, true},
		{"a directory above it", "free/d", "repos/a/d", "free/d/deep", true, true},
		{"out of what a lock guards", "repos/a/d", "free/d", "repos/a/d", false, false},
		{"out of it past the mount", "repos/a/d", "free/d", "repos/a/d", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mountWith(t, agencyRule, "repos/a/f", "free/f", filepath.Join(c.from, "deep", "f"))
			holder, worker := harness.StartActor(t, "holder"), harness.StartActor(t, "worker")
			try(t, holder, []attempt{{"take the lock", take(m.At("repos", "a", ".lock")), ""}})
			worker.OK(harness.Command{Op: "open", Path: m.At(c.work), Handle: "dir", Flags: unix.O_RDONLY | unix.O_DIRECTORY})
			makes := func(name string) string {
				return worker.Do(harness.Command{Op: "mkdirat", Handle: "dir", Path: name, Mode: 0o755}).Errno
			}
			old, now := "", "EROFS"
			if !c.guards {
				old, now = now, old
			}
			require.Equal(t, old, makes("first"))
			require.Equal(t, old, makes("second"))
			if c.past {
				require.NoError(t, os.Rename(filepath.Join(m.Source, c.from), filepath.Join(m.Source, c.to)))
				n := 0
				harness.EventuallyNoted(t, "the rules of its new place count", func() (bool, string) {
					n++
					word := makes(fmt.Sprint("third ", n))
					return word == now, word
				})
			} else {
				try(t, holder, []attempt{{"move it", harness.Command{Op: "rename", Path: m.At(c.from), To: m.At(c.to)}, ""}})
			}
			require.Equal(t, now, makes("fourth"))
		})
	}
}
