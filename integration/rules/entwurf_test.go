package rules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// createIt is how a shell opens a file to write it.
const createIt = unix.O_CREAT | unix.O_TRUNC

// oldClaim is of a process that no kernel has. The lock of an old garden is from before the mount.
const oldClaim = `{"gardenId":"","pid":2000000000,"hostname":"host","createdAt":"2026-01-01T00:00:00Z","nonce":"old"}` + "\n"

func oldGarden(what string) string { return "2025" + what }

var entwurf = program{
	preset: "entwurf", place: func(n int) (dir, what string) { return "entwurf-v2-locks", fmt.Sprintf("0612T101010-aaaaa%d", n) },
	before: func(t testing.TB, dir, what string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, oldGarden(what)+".lock"), []byte(oldClaim), 0o644))
	},
	holes: []story{
		{"a live lock is removed", entwurfRemoved,
			"one: acquired; rm: ; two: acquired", "one: acquired; rm: EROFS; two: target-locked"},
		{"a process of another pid namespace", entwurfElsewhere,
			"here: acquired; elsewhere: acquired; release: not-owned", "here: acquired; elsewhere: EROFS; release: released"},
		{"an empty lock", entwurfEmpty,
			"the lock: stays; next: target-locked", "the lock: gone; next: acquired"},
		{"a marker that was left", entwurfMarker,
			"the marker: stays; next: target-locked", "the marker: gone; next: EROFS"}, // the lock's own taker was not seen: a minute
	},
	everyday: []story{
		{name: "acquire, release", plays: entwurfWorks, natively: "acquired; target-locked; not-owned; released; acquired"},
		{name: "a dead one's lock is taken over", plays: entwurfDead, natively: "acquired; acquired; released"},
	},
}

func (s *scene) acquire() call { return call{op: "entwurf.acquire", what: s.what} }
func (s *scene) release() call { return call{op: "entwurf.release", what: s.what} }

func entwurfRemoved(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	said := one.does(s.acquire())
	rm := s.removes(s.what + ".lock")
	return told("one: "+said, "rm: "+rm, "two: "+two.does(s.acquire()))
}

// The pid of the one is none in the namespace of the other, and the host's name is the same.
func entwurfElsewhere(s *scene, _ bool) string {
	// In a namespace that is as new as this test's, a low pid could be one of both.
	require.NoError(s.t, exec.Command("sh", "-c", `i=0; while [ $i -lt 300 ]; do (:); i=$((i+1)); done`).Run())
	here, elsewhere := s.process("here"), s.elsewhere("elsewhere")
	said := here.does(s.acquire())
	other := elsewhere.does(s.acquire())
	return told("here: "+said, "elsewhere: "+other, "release: "+here.does(s.release()))
}

func entwurfEmpty(s *scene, ruled bool) string {
	s.process("one").stops(call{op: "entwurf.acquire", what: s.what, at: "it is created"}).dies()
	lock := s.stays(s.what+".lock", ruled)
	return told("the lock: "+lock, "next: "+s.process("two").does(s.acquire()))
}

func entwurfMarker(s *scene, ruled bool) string {
	s.process("one").stops(call{op: "entwurf.acquire", what: oldGarden(s.what), at: "the marker is taken"}).dies()
	marker := s.stays(oldGarden(s.what)+".lock.reclaim", ruled)
	return told("the marker: "+marker, "next: "+s.process("two").does(call{op: "entwurf.acquire", what: oldGarden(s.what)}))
}

func entwurfWorks(s *scene, _ bool) string {
	one, two := s.process("one"), s.process("two")
	return told(one.does(s.acquire()), two.does(s.acquire()), two.does(s.release()), one.does(s.release()), two.does(s.acquire()))
}

func entwurfDead(s *scene, ruled bool) string {
	one, two := s.process("one"), s.process("two")
	said := one.does(s.acquire())
	one.dies()
	if ruled { // if it went between two calls of the other one, that would say "locked", and try again
		harness.Eventually(s.t, "what it left goes by itself", func() bool {
			_, err := os.Lstat(s.file(s.what + ".lock"))
			return os.IsNotExist(err)
		})
	}
	return told(said, two.does(s.acquire()), two.does(s.release()))
}
