package service

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// inShell runs a script as a shell of its own does that stands in dir; $0 is jvsfs.
func inShell(m *harness.Mount, dir, script string, args ...string) (said string, err error) {
	cmd := exec.Command("bash", append([]string{"-c", script, m.Bin}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mountArgs are those of a mount in place of a plain directory.
func mountArgs(m *harness.Mount, more ...string) []string {
	m.Mounted, m.WasMounted = true, true
	return append([]string{"mount", m.Source, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile()}, more...)
}

// Whoever mounts the directory that his shell stands in writes past the mount until he comes in
// again: he is told, and what he is told to do helps.
func TestMountNamesTheShellWhoseDirectoryItCovers(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	said, err := inShell(m, m.Source, `"$0" "$@" || exit 1
echo past >f || echo refused "before" # the table shows this line: not as it would be said
cd "$PWD"
echo in >f || echo refused after
echo my pid $$; exit 0`, mountArgs(m)...)
	require.NoError(t, err, said)
	require.Regexp(t, `the shell that you run this in \(process \d+\) stands beneath the mount, where nothing is fenced: cd "\$PWD" takes it into the mount`, said)
	require.NotContains(t, said, "refused before", "this is what the note is about")
	require.Contains(t, said, "refused after")
	require.Equal(t, "past\n", harness.ReadText(t, m.Behind("f")))
}

// All who stand there are named, with what they do, the shell first; those elsewhere are not.
func TestMountNamesAllProcessesWhoseDirectoryItCovers(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f", "g")})
	writer, reader, mapper, elsewhere := harness.StartActor(t, "writer"), harness.StartActor(t, "reader"), harness.StartActor(t, "mapper"), harness.StartActor(t, "elsewhere")
	writer.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	reader.OK(harness.Command{Op: "open", Handle: "d", Path: m.At(), Flags: unix.O_RDONLY | unix.O_DIRECTORY})
	mapper.OK(harness.Command{Op: "open", Handle: "g", Path: m.At("g"), Flags: unix.O_RDWR})
	mapper.OK(harness.Command{Op: "mmap", Name: "map", Handle: "g", Len: 4096})
	mapper.OK(harness.Command{Op: "close", Handle: "g"})

	said, err := inShell(m, m.Source, `echo shell $$; "$0" "$@" --json 2>/dev/null`, mountArgs(m)...)
	require.NoError(t, err, said)
	var shell int
	_, err = fmt.Sscanf(said, "shell %d\n", &shell)
	require.NoError(t, err, said)
	var done struct {
		Beneath []struct {
			PID       int
			Use, Path string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(said[len("shell "+strconv.Itoa(shell)+"\n"):]), &done), said)
	uses := map[string]bool{}
	for _, e := range done.Beneath {
		uses[fmt.Sprint(e.PID, " ", e.Use[:min(len(e.Use), 3)], " ", e.Path)] = true
	}
	require.NotEmpty(t, done.Beneath)
	require.Equal(t, shell, done.Beneath[0].PID, said)
	require.Contains(t, uses, fmt.Sprint(writer.PID(), " fd  ", m.At("f")), said)
	require.Contains(t, uses, fmt.Sprint(reader.PID(), " fd  ", m.At()), said)
	require.Contains(t, uses, fmt.Sprint(mapper.PID(), " map ", m.At("g")), said)
	require.NotContains(t, said, fmt.Sprintf(`"pid": %d,`, elsewhere.PID()))
}

// With --strict nothing is mounted over somebody, and it is once he has left.
func TestMountStrictIsRefusedOverARunningProcess(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	script := `"$0" "$@"; echo exit $?`
	said, err := inShell(m, m.Source, script, mountArgs(m, "--strict")...)
	require.NoError(t, err, said)
	require.Contains(t, said, fmt.Sprint("exit ", harness.ExitBusy))
	require.Contains(t, said, "processes stand in "+m.Source+", and would write past the mount")
	require.Contains(t, said, "cd / there, then mount")
	require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, m.Source))

	said, err = inShell(m, "/", script, mountArgs(m, "--strict")...)
	require.NoError(t, err, said)
	require.Contains(t, said, "exit 0")
	require.NotContains(t, said, "stand")
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Source))
}

// A mount elsewhere leaves its source in view on purpose. Who stands in the directory that it
// covers is named all the same, and nobody is where nobody is.
func TestMountElsewhereNamesWhoItCovers(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	args := []string{"mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile()}
	m.Mounted, m.WasMounted = true, true
	said, err := inShell(m, m.Source, `"$0" "$@"; exit $?`, args...)
	require.NoError(t, err, said)
	require.NotContains(t, said, "stand")
	m.Unmount()
	m.Mounted = true
	said, err = inShell(m, m.Mountpoint, `"$0" "$@"; exit $?`, args...)
	require.NoError(t, err, said)
	require.Contains(t, said, "stands beneath the mount")
}
