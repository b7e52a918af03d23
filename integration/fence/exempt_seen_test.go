package fence

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func explained(m *harness.Mount, a *harness.Actor, path string) (x struct {
	Allowed  bool   `json:"allowed"`
	Exempt   string `json:"exempt"`
	Sentence string `json:"sentence"`
	Class    string `json:"class"`
}) {
	m.T.Helper()
	out, errs, _ := m.CLI("explain", "--json", "--pid", strconv.Itoa(a.PID()), path)
	require.NoError(m.T, json.Unmarshal([]byte(out), &x), "%s%s", out, errs)
	return x
}

// counts are the counters of the one worktree.
func counts(m *harness.Mount) (c struct {
	Writes, Refusals uint64
	Exempt           uint64 `json:"exempt_writes"`
}) {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Worktrees  []json.RawMessage
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &all))
	for _, s := range all.Mounts {
		if s.Mountpoint == m.Mountpoint {
			require.Len(m.T, s.Worktrees, 1)
			require.NoError(m.T, json.Unmarshal(s.Worktrees[0], &c))
		}
	}
	return c
}

// A write that is admitted because of its place is counted, audited and explained, and takes no lease.
func TestAnExemptWriteIsCountedAuditedAndExplained(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--exempt", cacheRule}, Prepare: prepareCache}) // on free: acquire
	stranger := harness.StartActor(t, "stranger")
	for range 50 {
		stranger.OK(harness.Command{Op: "writefile", Path: m.At(cacheDir, "f"), Data: []byte("theirs")})
	}
	c := counts(m)
	require.Zero(t, c.Writes)
	require.Zero(t, c.Refusals)
	require.EqualValues(t, 100, c.Exempt, "an open and a write each time")
	require.Contains(t, m.MustCLI("status"), "EXEMPT")

	var lines []harness.AuditLine
	harness.Eventually(t, "the first of a kind is written at once", func() bool {
		lines = nil
		for _, l := range m.AuditTail(m.Mountpoint) {
			if l.Type == "write_exempt" {
				lines = append(lines, l)
			}
		}
		return len(lines) >= 2
	})
	require.Len(t, lines, 2, "fifty of a kind are no fifty lines")
	require.Equal(t, cacheRule, lines[0].Details["rule"])
	require.Equal(t, cacheDir+"/f", lines[0].Details["path"])
	require.EqualValues(t, stranger.PID(), lines[0].Details["pid"])
	require.EqualValues(t, 0, lines[0].Details["uid"])

	holder := harness.StartActor(t, "holder")
	require.EqualValues(t, 1, m.Acquire(holder).TokenNumber(t), "no exempt write has taken a lease")
	x := explained(m, stranger, m.At(cacheDir, "f"))
	require.True(t, x.Allowed)
	require.Equal(t, cacheRule, x.Exempt)
	require.Equal(t, "exempt by rule "+cacheRule+": anybody may write here", x.Sentence)
	for _, path := range []string{"d/f", "new", "d/new/deeper"} {
		if path != "d/new/deeper" { // whose directory does not exist
			require.True(t, explained(m, stranger, m.At(cacheDir, path)).Allowed, path)
		}
	}
	for _, path := range []string{cacheDir, "src/f", cacheDir + "/linked", cacheDir + "/out", cacheDir + "/repo/.git/config", cacheDir + "/d/../../../src/f", "."} {
		x := explained(m, stranger, m.At(path))
		require.False(t, x.Allowed, path)
		require.Equal(t, "E_LOCK_CONFLICT", x.Class, path)
	}
	out, _, exit := m.CLI("explain", "--pid", strconv.Itoa(stranger.PID()), m.At(cacheDir, "f"))
	require.Zero(t, exit)
	require.Contains(t, out, "would pass\n  exempt by rule")
}

// The holder soon sees a stranger's change through another mount, although it may cache guarded files for long.
func TestAnExemptFileIsNotCachedForLong(t *testing.T) {
	m, holder, stranger := newCache(t)
	n := m.Second()
	n.T = t
	holder.OK(harness.Command{Op: "readfile", Path: m.At(cacheDir, "f")})
	holder.OK(harness.Command{Op: "readdir", Path: m.At(cacheDir)})
	holder.Fails(harness.Command{Op: "readfile", Path: m.At(cacheDir, "absent")}, "ENOENT")
	stranger.OK(harness.Command{Op: "writefile", Path: n.At(cacheDir, "f"), Flags: unix.O_TRUNC, Data: []byte("theirs")})
	stranger.OK(n.Put(cacheDir, "absent"))
	stranger.OK(harness.Command{Op: "unlink", Path: n.At(cacheDir, "g")})
	harness.Eventually(t, "the holder sees it", func() bool {
		return string(holder.OK(harness.Command{Op: "readfile", Path: m.At(cacheDir, "f")}).Data) == "theirs" &&
			holder.Do(harness.Command{Op: "readfile", Path: m.At(cacheDir, "absent")}).Errno == "" &&
			holder.Do(harness.Command{Op: "readfile", Path: m.At(cacheDir, "g")}).Errno == "ENOENT" &&
			!strings.Contains(string(holder.OK(harness.Command{Op: "readdir", Path: m.At(cacheDir)}).Data), "g\n")
	})
	stranger.Fails(n.Put("src/f"), "EROFS")
}
