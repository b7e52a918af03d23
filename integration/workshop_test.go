package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// toolTime bounds one run of a tool: compilers on a busy machine take a while.
const toolTime = 90 * time.Second

// toolRun is what one run of a tool came to.
type toolRun struct {
	exit      int
	out, errs string
}

// workshop is where other people's programs run: a directory, and who they are
// there. The programs know nothing of jvsfs.
type workshop struct {
	t      *testing.T
	dir    string   // their working directory; {} in an argument stands for it
	prefix []string // what makes them the holder, nil for nobody
	env    []string
}

// run runs a tool in a session of its own, so that nothing of the test makes
// it a member of anything.
func (w workshop) run(argv ...string) toolRun {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	argv = append(append([]string{}, w.prefix...), argv...)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{}", w.dir)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, &errs, w.dir, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 3 * time.Second
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		w.t.Fatalf("%v: %v\n%s%s", argv, err, out.String(), errs.String())
	}
	require.NoError(w.t, ctx.Err(), "%v: no end within %s", argv, toolTime)
	return toolRun{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// ok runs a tool that must succeed and returns what it printed.
func (w workshop) ok(argv ...string) string {
	w.t.Helper()
	r := w.run(argv...)
	require.Zero(w.t, r.exit, "%v\n%s%s", argv, r.out, r.errs)
	return r.out
}

// fails runs a tool that must fail, with this exit code and this message.
func (w workshop) fails(exit int, message string, argv ...string) {
	w.t.Helper()
	r := w.run(argv...)
	require.Equal(w.t, exit, r.exit, "%v\n%s%s", argv, r.out, r.errs)
	require.Contains(w.t, r.out+r.errs, message, "%v", argv)
}

// bench is one mount and one plain directory of the same content, to see the
// tools do the same in both.
type bench struct {
	t                *testing.T
	m                *mount
	plain, plainView string
	holder, native   workshop // the same tools, in the mount by leave of the lease, and natively
	stranger         workshop // in the mount, never by leave
}

// newBench prepares both. Nobody writes without a lease.
func newBench(t *testing.T, prepare func(t testing.TB, dir string)) *bench {
	t.Helper()
	m := newMount(t, mountOptions{onFree: "deny", prepare: prepare})
	b := &bench{t: t, m: m, plain: filepath.Join(m.base, "plain")}
	require.NoError(t, os.Mkdir(b.plain, 0o755))
	if prepare != nil {
		prepare(t, b.plain)
	}
	b.plainView = bindView(t, b.plain, filepath.Join(m.base, "plainview"), 0)
	env := toolEnv(t, m.base)
	b.holder = workshop{t: t, dir: m.Mountpoint, env: env, prefix: []string{m.bin, "exec", m.Mountpoint, "--"}}
	b.stranger = workshop{t: t, dir: m.Mountpoint, env: env}
	b.native = workshop{t: t, dir: b.plain, env: env}
	return b
}

// toolEnv is an environment in which no tool meets the settings of whoever
// runs the test, and every run makes the same bytes.
func toolEnv(t testing.TB, base string) []string {
	t.Helper()
	home := filepath.Join(base, "home")
	require.NoError(t, os.Mkdir(home, 0o755))
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C.UTF-8", "TERM=dumb", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
		"GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local", "GOCACHE=" + goCache(t),
		"npm_config_update_notifier=false", "npm_config_offline=true", "npm_config_cache=" + filepath.Join(home, "npm"),
	}
}

// goCache is the build cache of whoever runs the test: the compiler's own
// packages need not be built again.
func goCache(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// same runs the steps natively and as the holder. Each must end alike, and
// well; what they print may name the directory and is not compared.
func (b *bench) same(steps ...[]string) {
	b.t.Helper()
	for _, step := range steps {
		want, got := b.native.run(step...), b.holder.run(step...)
		require.Zero(b.t, want.exit, "natively: %v\n%s%s", step, want.out, want.errs)
		require.Equal(b.t, want.exit, got.exit, "%v\n%s%s", step, got.out, got.errs)
	}
}

// sameTrees compares what the steps made: the backing tree with the plain one,
// and the mount with the backing tree. Paths in but are of different content
// by nature, and compared by name and mode only.
func (b *bench) sameTrees(but []string, without ...leave) {
	b.t.Helper()
	want, got := takeDigest(b.t, b.plainView), b.m.digest()
	assert.NotEmpty(b.t, got)
	seen := takeDigest(b.t, b.m.Mountpoint)
	assert.Empty(b.t, got.diff(seen, leaveChangeTimes, leaveDirSizes), "backing directory, mount")
	for _, name := range but {
		for _, d := range []digest{want, got} {
			if e, found := d[name]; found {
				e.sum, e.size = "", 0
				d[name] = e
			}
		}
	}
	assert.Empty(b.t, want.diff(got, append(without, leaveDirSizes)...), "plain directory, backing directory")
}

// whileHeld lets the stranger try while an actor holds, and demands that the
// tree stays as it was.
func (b *bench) whileHeld(try func(s workshop)) {
	b.t.Helper()
	holder := startActor(b.t, "holder")
	b.m.acquire(holder)
	before := b.m.digest()
	try(b.stranger)
	assert.Empty(b.t, before.diff(b.m.digest()), "the refused tools left a trace")
	holder.ok(b.m.put("still holding"))
	b.m.release(holder)
	holder.end()
}
