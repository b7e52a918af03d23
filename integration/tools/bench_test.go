package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// bench is one mount and one plain directory of the same content, to see the
// tools do the same in both.
type bench struct {
	t                *testing.T
	m                *harness.Mount
	plain, plainView string
	holder, native   harness.Workshop // the same tools, in the mount by leave of the lease, and natively
	stranger         harness.Workshop // in the mount, never by leave
}

// newBench prepares both. Nobody writes without a lease.
func newBench(t *testing.T, prepare func(t testing.TB, dir string)) *bench {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: prepare})
	b := &bench{t: t, m: m, plain: filepath.Join(m.Base, "plain")}
	require.NoError(t, os.Mkdir(b.plain, 0o755))
	if prepare != nil {
		prepare(t, b.plain)
	}
	b.plainView = harness.BindView(t, b.plain, filepath.Join(m.Base, "plainview"), 0)
	env := toolEnv(t, m.Base)
	b.holder = harness.Workshop{T: t, Dir: m.Mountpoint, Env: env, Prefix: []string{m.Bin, "exec", m.Mountpoint, "--"}}
	b.stranger = harness.Workshop{T: t, Dir: m.Mountpoint, Env: env}
	b.native = harness.Workshop{T: t, Dir: b.plain, Env: env}
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
		want, got := b.native.Run(step...), b.holder.Run(step...)
		require.Zero(b.t, want.Exit, "natively: %v\n%s%s", step, want.Out, want.Errs)
		require.Equal(b.t, want.Exit, got.Exit, "%v\n%s%s", step, got.Out, got.Errs)
	}
}

// sameTrees compares what the steps made: the backing tree with the plain one,
// and the mount with the backing tree. Paths in but are of different content
// by nature, and compared by name and mode only.
func (b *bench) sameTrees(but []string, without ...harness.Leave) {
	b.t.Helper()
	want, got := harness.TakeDigest(b.t, b.plainView), b.m.Digest()
	assert.NotEmpty(b.t, got)
	seen := harness.TakeDigest(b.t, b.m.Mountpoint)
	assert.Empty(b.t, got.Diff(seen, harness.LeaveChangeTimes, harness.LeaveDirSizes), "backing directory, mount")
	for _, name := range but {
		for _, d := range []harness.Digest{want, got} {
			if e, found := d[name]; found {
				e.Sum, e.Size = "", 0
				d[name] = e
			}
		}
	}
	assert.Empty(b.t, want.Diff(got, append(without, harness.LeaveDirSizes)...), "plain directory, backing directory")
}

// whileHeld lets the stranger try while an actor holds, and demands that the
// tree stays as it was.
func (b *bench) whileHeld(try func(s harness.Workshop)) {
	b.t.Helper()
	holder := harness.StartActor(b.t, "holder")
	b.m.Acquire(holder)
	before := b.m.Digest()
	try(b.stranger)
	assert.Empty(b.t, before.Diff(b.m.Digest()), "the refused tools left a trace")
	holder.OK(b.m.Put("still holding"))
	b.m.Release(holder)
	holder.End()
}
