package service

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Whoever unmounts what it stands in learns of its shell, and not of the command itself.
func TestUmountFromInsideNamesTheShellAlone(t *testing.T) {
	s := newScene(t)
	exit, _, errs := s.enter(t, "cd $repo/main; jvsfs umount ../; code=$?; echo shell $$ >&2; exit $code")
	require.Equal(t, harness.ExitBusy, exit)
	require.Contains(t, errs, "cwd  "+s.value["repo"]+"/main")
	require.NotRegexp(t, `(?m)^\d+ +jvsfs umount`, errs)
	require.Contains(t, errs, "next: leave it with this shell, and end the others: cd / && jvsfs umount "+s.value["repo"])
}

// Doctor looks at the path that it is given, and at no other mount.
func TestDoctorLooksAtItsPathAlone(t *testing.T) {
	s := newScene(t)
	for line, mounts := range map[string][]string{
		"jvsfs doctor $plain":       {"plain"},
		"jvsfs doctor $repo/main":   {"repo"},
		"jvsfs doctor $other":       {},
		"jvsfs doctor $plain $repo": {"plain", "repo"},
		"jvsfs doctor":              {"plain", "repo", "dead"},
	} {
		_, out, _ := s.enter(t, line)
		for _, name := range []string{"plain", "repo", "dead"} {
			about := `mounts\.\w+ +` + s.value[name] + " "
			if slices.Contains(mounts, name) {
				require.Regexp(t, about, out, line)
			} else {
				require.NotRegexp(t, about, out, line)
			}
		}
	}
}

// A program learns from explain whom to ask: the holder's host, user and process.
func TestExplainTellsTheHolder(t *testing.T) {
	s := newScene(t)
	exit, out, _ := s.enter(t, "jvsfs explain --json $plain/file")
	require.Equal(t, harness.ExitConflict, exit)
	var x struct {
		Holder struct {
			Host string  `json:"host"`
			User string  `json:"user"`
			UID  *uint32 `json:"uid"`
			PID  int     `json:"pid"`
		} `json:"holder"`
	}
	harness.RequireJSON(t, out, &x)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host, x.Holder.Host)
	require.Equal(t, "root", x.Holder.User)
	require.NotNil(t, x.Holder.UID)
	require.Equal(t, s.value["holder"], strconv.Itoa(x.Holder.PID))
}

// What explain says of places beside the worktrees is what happens to who writes there.
func TestExplainOutsideOfWorktreesTellsTheTruth(t *testing.T) {
	s := newScene(t)
	for _, c := range []struct {
		path, says string
		exit       int
	}{
		{"$repo/new", "it lies beside the worktrees", 0},
		{"$repo/.jvs/new", "it lies beside the worktrees", 0},
		{"$repo/.jvs/locks/new", "E_SEALED", 1},
		{`"$repo/worktrees/a b"`, "E_BAD_WORKTREE_ID", harness.ExitUsage},
	} {
		exit, out, errs := s.enter(t, "jvsfs explain "+c.path)
		require.Equal(t, c.exit, exit, "%s\n%s%s", c.path, out, errs)
		require.Contains(t, out, c.says)
		wrote, _, _ := s.enter(t, "mkdir "+c.path)
		require.Equal(t, c.exit == 0, wrote == 0, c.path)
	}
	exit, out, _ := s.enter(t, "jvsfs enforce $repo readonly && jvsfs explain $repo/other; code=$?; jvsfs enforce $repo enforce; exit $code")
	require.Equal(t, 1, exit)
	require.Contains(t, out, "E_READ_ONLY_MOUNT")
}

// A steal that robs nobody says that it acquired.
func TestStealOfAFreeLeaseAcquires(t *testing.T) {
	s := newScene(t)
	exit, out, errs := s.enter(t, "jvsfs lock steal --yes --pid $$ $repo/main; code=$?; jvsfs lock release --pid $$ $repo/main; exit $code")
	require.Zero(t, exit, errs)
	require.Contains(t, out, "acquired main: token 1")
	require.NotContains(t, out, "stole")
}

// Exec says that the daemon was replaced, and not that it is gone.
func TestExecIsToldOfAReplacement(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{})
	word := filepath.Join(m.Base, "go")
	require.NoError(t, unix.Mkfifo(word, 0o600))
	waits := m.StartExec("echo began; read -r x < " + word)
	harness.Eventually(t, "exec holds the lease", func() bool { return harness.ReadText(t, waits.File) != "" })
	m.MustCLI("mount", "--replace", m.Source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile())
	harness.Eventually(t, "exec has found the new daemon", func() bool { return len(harness.ReadText(t, waits.File)) > len("began\n") })
	require.NoError(t, os.WriteFile(word, []byte("\n"), 0))
	exit, text := waits.Wait()
	require.Zero(t, exit, text)
	require.Contains(t, text, "the daemon of the mount was replaced, and the lease continues")
	require.NotContains(t, text, "is gone")
}
