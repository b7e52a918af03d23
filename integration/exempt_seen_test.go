package integration

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func (m *mount) explained(a *actor, path string) (x struct {
	Allowed  bool   `json:"allowed"`
	Exempt   string `json:"exempt"`
	Sentence string `json:"sentence"`
	Class    string `json:"class"`
}) {
	m.t.Helper()
	out, errs, _ := m.CLI("explain", "--json", "--pid", strconv.Itoa(a.pid()), path)
	require.NoError(m.t, json.Unmarshal([]byte(out), &x), "%s%s", out, errs)
	return x
}

// counts are the counters of the one worktree.
func (m *mount) counts() (c struct {
	Writes, Refusals uint64
	Exempt           uint64 `json:"exempt_writes"`
}) {
	m.t.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Worktrees  []json.RawMessage
		}
	}
	require.NoError(m.t, json.Unmarshal([]byte(m.cliOK("status", "--json")), &all))
	for _, s := range all.Mounts {
		if s.Mountpoint == m.Mountpoint {
			require.Len(m.t, s.Worktrees, 1)
			require.NoError(m.t, json.Unmarshal(s.Worktrees[0], &c))
		}
	}
	return c
}

// What was let through for its place is counted, stands in the audit chain and is
// explained, and takes no lease.
func TestExemptIsSeen(t *testing.T) {
	m := newMount(t, mountOptions{extra: []string{"--exempt", cacheRule}, prepare: prepareCache}) // on free: acquire
	stranger := startActor(t, "stranger")
	for range 50 {
		stranger.ok(command{Op: "writefile", Path: m.At(cacheDir, "f"), Data: []byte("theirs")})
	}
	c := m.counts()
	require.Zero(t, c.Writes)
	require.Zero(t, c.Refusals)
	require.EqualValues(t, 100, c.Exempt, "an open and a write each time")
	require.Contains(t, m.cliOK("status"), "EXEMPT")

	var lines []auditLine
	eventually(t, "the first of a kind is written at once", func() bool {
		lines = nil
		for _, l := range m.auditTail(m.Mountpoint) {
			if l.Type == "write_exempt" {
				lines = append(lines, l)
			}
		}
		return len(lines) >= 2
	})
	require.Len(t, lines, 2, "fifty of a kind are no fifty lines")
	require.Equal(t, cacheRule, lines[0].Details["rule"])
	require.Equal(t, cacheDir+"/f", lines[0].Details["path"])
	require.EqualValues(t, stranger.pid(), lines[0].Details["pid"])
	require.EqualValues(t, 0, lines[0].Details["uid"])

	holder := startActor(t, "holder")
	require.EqualValues(t, 1, m.acquire(holder).token(t), "no exempt write has taken a lease")
	x := m.explained(stranger, m.At(cacheDir, "f"))
	require.True(t, x.Allowed)
	require.Equal(t, cacheRule, x.Exempt)
	require.Equal(t, "exempt by rule "+cacheRule+": anybody may write here", x.Sentence)
	for _, path := range []string{"d/f", "new", "d/new/deeper"} {
		if path != "d/new/deeper" { // whose directory does not exist
			require.True(t, m.explained(stranger, m.At(cacheDir, path)).Allowed, path)
		}
	}
	for _, path := range []string{cacheDir, "src/f", cacheDir + "/linked", cacheDir + "/out", cacheDir + "/repo/.git/config", cacheDir + "/d/../../../src/f", "."} {
		x := m.explained(stranger, m.At(path))
		require.False(t, x.Allowed, path)
		require.Equal(t, "E_LOCK_CONFLICT", x.Class, path)
	}
	out, _, exit := m.CLI("explain", "--pid", strconv.Itoa(stranger.pid()), m.At(cacheDir, "f"))
	require.Zero(t, exit)
	require.Contains(t, out, "would pass\n  exempt by rule")
}

// What a stranger changes through one mount is soon seen by the holder of another, who
// may believe what is guarded for long.
func TestExemptIsNotCachedForLong(t *testing.T) {
	m, holder, stranger := newCache(t)
	n := m.second()
	n.t = t
	holder.ok(command{Op: "readfile", Path: m.At(cacheDir, "f")})
	holder.ok(command{Op: "readdir", Path: m.At(cacheDir)})
	holder.fails(command{Op: "readfile", Path: m.At(cacheDir, "absent")}, "ENOENT")
	stranger.ok(command{Op: "writefile", Path: n.At(cacheDir, "f"), Flags: unix.O_TRUNC, Data: []byte("theirs")})
	stranger.ok(n.put(cacheDir, "absent"))
	stranger.ok(command{Op: "unlink", Path: n.At(cacheDir, "g")})
	eventually(t, "the holder sees it", func() bool {
		return string(holder.ok(command{Op: "readfile", Path: m.At(cacheDir, "f")}).Data) == "theirs" &&
			holder.do(command{Op: "readfile", Path: m.At(cacheDir, "absent")}).Errno == "" &&
			holder.do(command{Op: "readfile", Path: m.At(cacheDir, "g")}).Errno == "ENOENT" &&
			!strings.Contains(string(holder.ok(command{Op: "readdir", Path: m.At(cacheDir)}).Data), "g\n")
	})
	stranger.fails(n.put("src/f"), "EROFS")
}
