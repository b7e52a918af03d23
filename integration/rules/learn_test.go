package rules

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// What is learned of a program is enforced for it: who has not taken the lock is refused while it is held.
func TestRulesAreLearnedFromAProgram(t *testing.T) {
	for _, c := range []struct {
		name, needs string
		line        string // run with sh in the directory
		proposes    []string
		takes       string // as the program does
		guards      string
	}{
		{name: "git", needs: "git", line: "echo x >f && git init -q . && git add f && git commit -qm first",
			proposes: []string{"{f}.lock'", "taken_by: create", "made with O_EXCL by git"}, takes: "set -C; : >.git/index.lock; set +C", guards: ".git/index"},
		{name: "mkdir in a script", needs: "mkdir", line: "for n in a b; do mkdir -p $n && mkdir $n/.busy && echo x >$n/out && rmdir $n/.busy; done",
			proposes: []string{"lock: '{x}/.busy'", "holder: parent", "guards: ['{x}/out']", "seen: 2 times"}, takes: "mkdir a/.busy", guards: "a/out"},
		{name: "flock", needs: "flock", line: "flock l sh -c 'echo x >db'",
			proposes: []string{"lock: 'l'", "taken_by: flock", "db'"}, takes: "exec 9>l; flock 9", guards: "db"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip(c.needs + " is not installed")
			}
			m := harness.PrepareMount(t, harness.MountOptions{})
			argv := append([]string{"rules", "learn", m.Source, "--", "env", "-C", m.Source}, harness.GitEnv(t, filepath.Join(m.Base, "home"))...)
			proposal := m.MustCLI(append(argv, "sh", "-c", c.line)...)
			for _, what := range c.proposes {
				require.Contains(t, proposal, what)
			}
			require.FileExists(t, filepath.Join(m.Source, c.guards), "the program has done its work in the directory itself")
			m.Opts.Extra = []string{"--mode", "shared", "--rules", m.WriteConfig("rules.yaml", proposal)}
			m.Mount()
			holds(t, m.Mountpoint, c.takes+" && echo y >"+c.guards)
			require.Equal(t, "y\n", harness.ReadText(t, m.At(c.guards)), "who has the lock writes")
			stranger := harness.StartActor(t, "stranger")
			write := harness.Command{Op: "writefile", Path: m.At(c.guards), Flags: unix.O_TRUNC, Data: []byte("z")}
			require.Equal(t, "EROFS", stranger.Do(write).Errno)
		})
	}
}

// holds runs a line of shell, and keeps its process until the test has ended.
func holds(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line+" && echo held && exec cat")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		_ = cmd.Wait() // of cat, or of a line that has failed
	})
	require.NoError(t, err)
	require.Equal(t, "held\n", said)
}

// A shell that does as agency does with its locks is learned from its calls. Two repositories show what varies.
func TestLearningFindsWhatVariesBetweenRepositories(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	line := `for r in a b; do mkdir -p repos/$r; set -C; echo 1 >repos/$r/.lock; set +C; echo x >repos/$r/meta; rm repos/$r/.lock; done`
	proposal := m.MustCLI("rules", "learn", m.Source, "--", "env", "-C", m.Source, "sh", "-c", line)
	require.Contains(t, proposal, "lock: 'repos/{x}/.lock'")
	require.Contains(t, proposal, "guards: ['repos/{x}/meta']")
	require.NotContains(t, proposal, "holder:", "the shell itself took it")
}

// Nobody else sees the mount of a program that is watched, and what it answers is passed on.
func TestLearningChangesNothingForOthers(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	mounts := filepath.Join(m.Base, "mounts")
	out, errs, exit := m.CLI("rules", "learn", m.Source, "--", "sh", "-c", "cat /proc/self/mounts >"+mounts+"; cat /proc/$PPID/mounts >"+mounts+".others; exit 7")
	require.Equal(t, 7, exit, errs)
	require.Empty(t, out)
	require.Contains(t, harness.ReadText(t, mounts), "fuse.jvsfs-learn")
	require.NotContains(t, harness.ReadText(t, mounts+".others"), "fuse.jvsfs-learn")

	_, errs, exit = m.CLI("rules", "learn", m.Source, "--", "true")
	require.Equal(t, harness.ExitNotHeld, exit)
	require.Contains(t, errs, "no lock file was seen below "+m.Source)
	_, _, exit = m.CLI("rules", "learn", m.Source, "--", "/nonesuch")
	require.Equal(t, 127, exit)

	require.NoError(t, os.WriteFile(filepath.Join(m.Source, "f"), nil, 0o644))
	m.Mount()
	_, errs, exit = m.CLI("rules", "learn", m.Mountpoint, "--", "true")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is on a jvsfs mount")
}
