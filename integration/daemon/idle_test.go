package daemon

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// idleWindow is how long an idle mount is looked at: JVSFS_TEST_IDLE=1m for a whole minute.
func idleWindow(t *testing.T) time.Duration {
	said := os.Getenv("JVSFS_TEST_IDLE")
	if said == "" {
		return 6 * time.Second
	}
	window, err := time.ParseDuration(said)
	require.NoError(t, err)
	return window
}

// runtimeSeconds is in how many seconds of a window a process may wake although the program wants nothing. Go's runtime
// looks once a minute whether it has collected garbage in the last two (forcegcperiod in runtime/proc.go). If not, it does.
func runtimeSeconds(window time.Duration) int { return 2 * int((window+time.Minute-1)/time.Minute) }

// awake counts the wake-ups of all threads of the mount's processes, second by second. A busy machine has us sleep for longer: a count is
// that of one second of them.
func awake(m *harness.Mount, window time.Duration) (each []uint64) {
	m.T.Helper()
	at, before := time.Now(), harness.Switches(harness.ProcessesOf(m.Bin)...)
	require.NotEmpty(m.T, before)
	for end := at.Add(window); at.Before(end); {
		time.Sleep(time.Second) // this is what is measured
		now := harness.Switches(harness.ProcessesOf(m.Bin)...)
		took := time.Since(at)
		each = append(each, uint64(math.Ceil(float64(harness.SwitchesSince(before, now))/took.Seconds())))
		at, before = at.Add(took), now
	}
	return each
}

// used has had requests of many kinds in quick succession, one caller and several, and a lease that was given back.
func used(t *testing.T, o harness.MountOptions) *harness.Mount {
	t.Helper()
	o.Prepare = func(t testing.TB, worktree string) { withDirs(t, worktree, 4) }
	o.Policy = harness.Hasty
	m := harness.NewMount(t, o)
	root := ""
	if o.Repository {
		root = "main"
	}
	exit, said := harness.StartActor(t, "a").Run(m.At(root), "",
		`for d in d*; do (for i in $(seq 50); do echo "$i" >>$d/f; cat $d/read; : >$d/new; rm $d/new; done) & done >/dev/null; wait; ls -lR >/dev/null`)
	require.Zero(t, exit, said)
	harness.Eventually(t, "the lease is given back", func() bool {
		_, r := m.HeadClaim(root)
		return r.Released
	})
	return m
}

// Nobody pays for a mount that nobody uses: no thread of its processes wakes. A poll would show in every second.
func TestAnIdleMountDoesNotWake(t *testing.T) {
	for name, o := range map[string]harness.MountOptions{
		"a directory": {},
		"a repository in place, with rules and metrics": {
			Repository: true, InPlace: true, Extra: []string{"--rules", "git", "--metrics", "127.0.0.1:0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := used(t, o)
			harness.Eventually(t, "the mount falls asleep", func() bool { return awake(m, time.Second)[0] == 0 })
			each := awake(m, idleWindow(t))
			t.Logf("wake-ups in each second: %v", each)
			woken := len(slices.DeleteFunc(each, func(n uint64) bool { return n == 0 }))
			require.LessOrEqual(t, woken, runtimeSeconds(idleWindow(t)))
		})
	}
}

// looksASecond is how often the keeper of a lease looks at its holder and at its record (Tick in lease/keeper.go), and
// looksCost is more than how often threads go to sleep for one look.
const looksASecond, looksCost = 5, 20

// A lease that is held must be renewed and watched. Beside that nothing wakes. One second is enough: where others want the processors a look
// may cost more, but who polls does it in every second.
func TestAnIdleMountWithALeaseWakesForTheLeaseAlone(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("held")})
	harness.EventuallyNoted(t, "it wakes for the lease alone", func() (bool, string) {
		each := awake(m, time.Second)
		return each[0] <= looksASecond*looksCost, fmt.Sprint(each[0])
	})
	a.OK(harness.Command{Op: "close", Handle: "f"})
}
