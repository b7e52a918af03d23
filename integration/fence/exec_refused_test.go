package fence

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// exec says in one line what its command was refused, in whichever worktree, and
// nothing when there was nothing.
func TestExecTellsOfRefusedWrites(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	b := harness.StartActor(t, "b")
	held := m.Acquire(b, "worktrees", "b")
	run := func(line string) (exit int, refused []string) {
		_, errs, exit := m.CLI("exec", m.At("main"), "--", "sh", "-c", line)
		for said := range strings.Lines(errs) {
			if strings.HasPrefix(said, "jvsfs: ") {
				refused = append(refused, said)
			}
		}
		return exit, refused
	}
	exit, said := run("echo x >" + m.At("main", "f"))
	require.Zero(t, exit)
	require.Empty(t, said)

	exit, said = run("for n in 1 2 3; do touch " + m.At("worktrees", "b") + "/$n; done; exit 7")
	require.Equal(t, 7, exit, "the exit code stays that of the command")
	require.Len(t, said, 1)
	require.Contains(t, said[0], "jvsfs: 3 writes of touch were refused in "+m.At("worktrees", "b")+": ")
	require.Contains(t, said[0], held.HolderID)
	told := regexp.MustCompile(`\(token 1, ([\d.]\S*s) left unless renewed\)`).FindStringSubmatch(said[0])
	require.Len(t, told, 2, said[0])
	left, err := time.ParseDuration(told[1])
	require.NoError(t, err)
	require.LessOrEqual(t, left, harness.Calm.Lease)
	require.Contains(t, said[0], "next: ")

	exit, said = run("sh -c 'sh -c \"echo x >" + m.At("worktrees", "b", "z") + "\"' || true")
	require.Zero(t, exit)
	require.Len(t, said, 1)
	require.Contains(t, said[0], "1 write of sh was refused in ")
	b.OK(m.Put("worktrees", "b", "mine"))
	exit, said = run("true")
	require.Zero(t, exit)
	require.Empty(t, said, "what others or earlier commands were refused is not this one's")
}
