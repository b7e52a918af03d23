package sibling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

const (
	asProgram = "JVSFS_TEST_SIBLING" // makes the test binary one of the two programs: how the complete one is built
	complete  = "complete"
	ordinary  = "ordinary, too"
	older     = "complete, of another version"
)

// The test binary is both programs, by its name.
func TestMain(m *testing.M) {
	how := os.Getenv(asProgram)
	if how == "" {
		os.Exit(m.Run())
	}
	api.ReleaseName = "1.2.3"
	s, err := Begin(), error(nil)
	if isComplete := filepath.Base(os.Args[0]) != Name && strings.HasSuffix(own(), "/"+Name); isComplete && how != ordinary {
		if how == older {
			api.ReleaseName = "1.2.2"
		}
		if err = s.Confirm(); err == nil {
			told(s)
			os.Exit(0)
		}
	} else {
		_ = os.Unsetenv("JVSFS_TEST_TAKEN")
		os.Args = os.Args[:1]
		unix.CloseOnExec(3) // as the daemon does with what is for it alone
		err = s.Enter(3)
	}
	fmt.Printf("refused: %v; next: %s\n", err, api.AsFailure(err).Next)
	os.Exit(1)
}

// told prints what the complete program has got.
func told(s Start) {
	kept, err := io.ReadAll(os.NewFile(3, "kept"))
	inherited, err2 := io.ReadAll(os.NewFile(4, "inherited"))
	_, marked := os.LookupEnv(mark)
	fmt.Printf("process %d args %q taken %s marked %v descriptors %q %q %v\n", os.Getpid(), os.Args, os.Getenv("JVSFS_TEST_TAKEN"), marked, kept, inherited, errors.Join(err, err2))
	for _, line := range s.env {
		if strings.HasPrefix(line, mark) {
			fmt.Println("the mark is in the environment of the start")
		}
	}
}

// programs are a directory with the ordinary program and the complete one beside it.
func programs(t *testing.T) (dir, program string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	dir = safeDir(t)
	for _, name := range []string{"jvsfs", Name} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755)) // whatever the umask is
	}
	return dir, filepath.Join(dir, "jvsfs")
}

func safeDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// start runs the ordinary program under another name, with a pipe as descriptor 3 and another one as 4.
func start(t *testing.T, program, how string) (pid int, said string, err error) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // programs that start each other have no end
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "mount", "--config", "a b")
	cmd.Args[0] = "mount.jvsfs"
	cmd.Env = append(os.Environ(), asProgram+"="+how, "JVSFS_TEST_TAKEN=yes", "GORACE=atexit_sleep_ms=0")
	for _, text := range []string{"from who waits", "of the shell"} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		_, err = w.WriteString(text)
		require.NoError(t, errors.Join(err, w.Close()))
		defer r.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	}
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return cmd.Process.Pid, out.String(), err
}

// The complete program is the same process, with all that it was started with: also what this one has read and taken away already.
func TestTheCompleteProgramTakesThePlaceOfThisOne(t *testing.T) {
	_, program := programs(t)
	link := filepath.Join(t.TempDir(), "mount.jvsfs")
	require.NoError(t, os.Symlink(program, link))
	for _, at := range []string{program, link} {
		pid, said, err := start(t, at, complete)
		require.NoError(t, err, said)
		require.Equal(t, fmt.Sprintf("process %d args [\"mount.jvsfs\" \"mount\" \"--config\" \"a b\"] taken yes marked false descriptors \"from who waits\" \"of the shell\" <nil>\n", pid), said)
	}
}

func TestTheCompleteProgramServesNoOtherVersion(t *testing.T) {
	dir, program := programs(t)
	_, said, err := start(t, program, older)
	require.Error(t, err)
	require.Equal(t, "refused: E_USAGE: "+dir+"/jvsfs-etcd is version 1.2.2, but the jvsfs that runs it is version 1.2.3; next: install both from one package, or build both from one tree\n", said)
}

// Two ordinary programs, one under the name of the other, would start each other for ever.
func TestNoProgramStartsItself(t *testing.T) {
	dir, program := programs(t)
	_, said, err := start(t, program, ordinary)
	require.Error(t, err)
	require.Equal(t, "refused: E_USAGE: "+dir+"/jvsfs-etcd was built without etcd, too; next: build it with etcd: go build -tags jvsfs_etcd -o "+dir+"/jvsfs-etcd ./cmd/jvsfs\n", said)
}

func TestWhatCannotBeRunIsSaid(t *testing.T) {
	dir, program := programs(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, Name), []byte("no program"), 0o600))
	_, said, err := start(t, program, complete)
	require.Error(t, err)
	require.Contains(t, said, "refused: E_USAGE: cannot run "+dir+"/jvsfs-etcd: exec format error")
}

func TestAMissingProgramIsNamedWithAllPlaces(t *testing.T) {
	one, two := safeDir(t), safeDir(t)
	_, err := find([]string{one, two})
	f := api.AsFailure(err)
	require.Equal(t, "this jvsfs was built without etcd, and there is no jvsfs-etcd: looked for "+one+"/jvsfs-etcd and "+two+"/jvsfs-etcd", f.Message)
	require.Equal(t, "install the package jvsfs, or build it from the tree of this jvsfs: go build -tags jvsfs_etcd -o "+one+"/jvsfs-etcd ./cmd/jvsfs", f.Next)
	require.Equal(t, api.ExitUsage, f.Exit())
	put(t, two, 0o755)
	found, err := find([]string{one, two})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(two, Name), found)
}

// Root runs nothing that somebody else may have written; what is beyond that is not passed over for another one.
func TestAProgramThatOthersCanWriteIsNotRun(t *testing.T) {
	good := safeDir(t)
	put(t, good, 0o755)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, program string)
		says  string
	}{
		"its group writes it":     {func(t *testing.T, _, p string) { require.NoError(t, os.Chmod(p, 0o775)) }, "others than the owner may write"},
		"everybody writes it":     {func(t *testing.T, _, p string) { require.NoError(t, os.Chmod(p, 0o757)) }, "others than the owner may write"},
		"a group writes there":    {func(t *testing.T, d, _ string) { require.NoError(t, os.Chmod(d, 0o775)) }, "others than the owner may write"},
		"everybody writes there":  {func(t *testing.T, d, _ string) { require.NoError(t, os.Chmod(d, 0o1777)) }, "others than the owner may write"},
		"it is another user's":    {func(t *testing.T, _, p string) { chown(t, p) }, "belongs to another user"},
		"the place is another's":  {func(t *testing.T, d, _ string) { chown(t, d) }, "belongs to another user"},
		"it is a link to another": {func(t *testing.T, _, p string) { link(t, filepath.Join(good, Name), p) }, "no regular file"},
		"it is a link to nothing": {func(t *testing.T, _, p string) { link(t, "/nowhere", p) }, "no regular file"},
		"it is a directory":       {func(t *testing.T, _, p string) { require.NoError(t, errors.Join(os.Remove(p), os.Mkdir(p, 0o755))) }, "no regular file"},
		"it cannot be looked at": {func(t *testing.T, d, _ string) {
			require.NoError(t, errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600)))
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := safeDir(t)
			c.spoil(t, dir, put(t, dir, 0o755))
			_, err := find([]string{dir, good})
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, dir)
		})
	}
}

func put(t *testing.T, dir string, mode os.FileMode) string {
	t.Helper()
	program := filepath.Join(dir, Name)
	require.NoError(t, os.WriteFile(program, nil, mode))
	require.NoError(t, os.Chmod(program, mode))
	return program
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file away")
	}
	require.NoError(t, os.Chown(path, 12345, 12345))
}

func link(t *testing.T, to, at string) {
	t.Helper()
	require.NoError(t, errors.Join(os.Remove(at), os.Symlink(to, at)))
}
