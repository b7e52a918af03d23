package lease

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// sequence runs n commands one after the other, each in a session of its own, as cron,
// `ssh HOST CMD` and editors' tasks do, and returns what they complained of.
func sequence(t *testing.T, n int, script string) string {
	t.Helper()
	loop := fmt.Sprintf(`for i in $(seq %d); do setsid -w sh -c '%s'; done`, n, script)
	out, err := exec.Command("sh", "-c", loop).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// With the defaults one person who works is never refused: a lease that a command's
// session took passes on when that session has ended, before anybody is refused.
func TestCommandsOneAfterAnotherAreNeverRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	const n = 60
	for name, script := range map[string]string{
		"append":  "echo x >>" + m.At("log"),
		"create":  "echo x >" + m.At("new.$$"),
		"rename":  "echo x >" + m.At("tmp") + " && mv " + m.At("tmp") + " " + m.At("moved"),
		"a child": "(echo x >>" + m.At("by-a-child") + "); true",
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, sequence(t, n, script))
		})
	}
	log, err := os.ReadFile(m.At("log"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x\n", n), string(log))
	require.Zero(t, m.WorktreeStatus("source").Refusals)
}

// What is acquired on purpose right after such a command finds the lease free, too.
func TestAnAcquireRightAfterACommandFindsTheLeaseFree(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	for range 8 {
		require.Empty(t, sequence(t, 1, "echo x >>"+m.At("f")))
		m.MustCLI("exec", m.Mountpoint, "--", "true")
		require.Empty(t, sequence(t, 1, "echo x >>"+m.At("f")))
		m.Acquire(a)
		m.Release(a)
	}
}

// So does a process that comes through another mount of the same tree.
func TestCommandsThroughTwoMountsInTurnAreNeverRefused(t *testing.T) {
	for _, onFree := range []string{"acquire", "allow"} {
		t.Run(onFree, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: onFree, Prepare: harness.WithFiles("f")})
			n := m.Second()
			for i := range 12 {
				out := sequence(t, 1, "echo x >>"+m.At("f"))
				require.Empty(t, out, "round %d", i)
				out = sequence(t, 1, "echo x >>"+n.At("f"))
				require.Empty(t, out, "round %d, second mount", i)
				if i%4 == 0 {
					m.MustCLI("exec", n.Mountpoint, "--", "true")
				}
			}
		})
	}
}

// A session is its members: while one of them is left the lease stays theirs, though the
// leader has ended, and no longer.
func TestASessionKeepsItsLeaseWhenItsLeaderEnds(t *testing.T) {
	often := harness.Calm
	often.Renew = 250 * time.Millisecond // a renewal is a look at the holder
	m := harness.NewMount(t, harness.MountOptions{Policy: often, Prepare: harness.WithFiles("f")})
	other := harness.StartActor(t, "other")
	gate := m.Base + "/go"
	require.NoError(t, exec.Command("mkfifo", gate).Run())
	// The leader ends; a child that it leaves behind has not written yet, and waits for us.
	out := sequence(t, 1, "echo x >>"+m.At("f")+"; (exec 3<"+gate+"; read line <&3; echo late >>"+m.At("f")+"; echo $? >"+m.Base+"/result; read line <&3) >/dev/null 2>&1 &")
	require.Empty(t, out)
	_, mine := m.HeadClaim("")
	harness.Eventually(t, "the lease is renewed for who is left", func() bool {
		other.Fails(m.Put("f"), "EROFS")
		_, now := m.HeadClaim("")
		return now.RenewedAt.Sub(mine.RenewedAt) > 3*often.Renew
	})
	w, err := os.OpenFile(gate, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = w.Close() }()
	_, err = w.WriteString("go\n")
	require.NoError(t, err)
	harness.Eventually(t, "the child has written", func() bool {
		b, _ := os.ReadFile(m.Base + "/result")
		return string(b) == "0\n"
	})
	_, still := m.HeadClaim("")
	require.Equal(t, mine.TokenNumber(t), still.TokenNumber(t), "the lease is the session's own still")
	other.Fails(m.Put("f"), "EROFS")
	require.NoError(t, w.Close()) // the child ends
	harness.EventuallyNoted(t, "the session is over", func() (bool, string) {
		r := other.Do(m.Put("f"))
		return r.Errno == "", r.Errno
	})
}

// However many commands have come and gone, the next one finds few records to look through,
// and the tokens go on: also those of a mount that is made anew.
func TestRecordsOfManyCommandsAreSwept(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	const n, bound = 420, 400 // without sweeping there is a claim for each
	require.Empty(t, sequence(t, n, "echo x >>"+m.At("log")))
	_, head := m.HeadClaim("")
	require.EqualValues(t, n, head.TokenNumber(t))
	require.Less(t, claimCount(m), bound)
	a := harness.StartActor(t, "a")
	m.Acquire(a) // and holds on: what is left to do is done meanwhile
	harness.EventuallyNoted(t, "the old claims are swept", func() (bool, string) {
		return claimCount(m) < 80, fmt.Sprint(claimCount(m))
	})
	_, head = m.HeadClaim("")
	require.EqualValues(t, n+1, head.TokenNumber(t))
}

func claimCount(m *harness.Mount) (n int) {
	m.T.Helper()
	require.NoError(m.T, filepath.WalkDir(m.LockDir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && harness.ClaimName.MatchString(d.Name()) {
			n++
		}
		return nil
	}))
	return n
}
