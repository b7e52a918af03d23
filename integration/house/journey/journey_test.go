package journey

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/house"
)

const (
	root    = "../../.." // of the module
	figures = "../figures"
	few     = 10
	many    = few + 1000
)

// What a holder's plain write and a new file run of our code does not become more. A mount of one tree, whose holder does the same few
// and many times: the functions that ran a thousand times more are those of the journey.
func TestAWriteAndANewFileRunNoMoreFunctionsThanTheyDid(t *testing.T) {
	bin := filepath.Join(harness.Scratch, "bin", "jvsfs-counted")
	require.NoError(t, harness.BuildBinary(bin, "-cover", "-covermode=atomic", "-coverpkg="+strings.Join([]string{
		module + "cmd/jvsfs", // without it nothing is written at the end
		module + "fusefs/...", module + "gate/...", module + "lease/..."}, ",")))
	now := map[house.Figure]int{}
	for what, do := range map[string]func(t *testing.T, m *harness.Mount, n int){"write": writes, "new file": newFiles} {
		before, after := ran(t, bin, func(m *harness.Mount) { do(t, m, few) }), ran(t, bin, func(m *harness.Mount) { do(t, m, many) })
		all, err := journey(root, before, after, many-few)
		require.NoError(t, err)
		require.NotEmpty(t, all, what)
		what = strings.ReplaceAll(what, " ", "-")
		now[house.Figure{What: "functions", Name: what}], now[house.Figure{What: "in-files", Name: what}] = len(all), filesOf(all)
		for _, f := range all {
			t.Logf("%s: %s:%d", what, f.file, f.line)
		}
	}
	house.Hold(t, figures, now)
}

// ran are the blocks that ran between a mount and its end.
func ran(t *testing.T, bin string, do func(*harness.Mount)) map[block]int {
	t.Helper()
	dir := harness.NewBase(t)
	t.Setenv("GOCOVERDIR", dir)
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.Bin = bin
	m.Mount()
	m.MustCLI("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
	do(m)
	m.MustCLI("lock", "release", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
	m.Unmount()
	all, err := counts(dir)
	require.NoError(t, err)
	return all
}

func writes(t *testing.T, m *harness.Mount, n int) {
	f, err := os.OpenFile(m.At("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	for range n {
		_, err := f.WriteAt(make([]byte, 4096), 0)
		require.NoError(t, err)
	}
}

func newFiles(t *testing.T, m *harness.Mount, n int) {
	for i := range n {
		f, err := os.OpenFile(m.At(fmt.Sprint("new", i)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}
