package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// A lease is bound to the process that --pid names: it is renewed while that
// lives, many times over, and released when it ends.
func TestLockPid(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	l := newMail(m)
	b := m.start("sh", "-c", "read x <"+l.gate("write")+"; echo x >"+m.At("written")+"; "+l.tell("written")+"; read x <"+l.gate("end"))
	var first record
	require.NoError(t, json.Unmarshal([]byte(m.cliOK("lock", "acquire", "--json", "--pid", strconv.Itoa(b.pid()), m.Mountpoint)), &first))
	require.Contains(t, first.HolderID, ":"+strconv.Itoa(b.pid())+":")
	eventually(t, "the lease outlives its length three times", func() bool {
		_, now := m.headClaim("")
		require.Equal(t, first.token(t), now.token(t))
		require.False(t, now.Released)
		return now.RenewedAt.Sub(first.RenewedAt) > 3*hasty.lease
	})
	l.open("write")
	require.Equal(t, "0", l.take("written"))
	l.open("end")
	exit, errs := b.wait()
	require.Zero(t, exit, errs)
	eventually(t, "the lease is released", func() bool {
		_, now := m.headClaim("")
		return now.Released
	})
	_, last := m.headClaim("")
	require.Equal(t, first.token(t), last.token(t), "nobody else took it")
}

// Without --pid it is the process that runs the command: a shell, with what it
// starts.
func TestLockOfTheShell(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	b := m.start("sh", "-c", "echo x >"+m.At("f")+"; "+m.bin+" lock acquire "+m.Mountpoint+" && touch "+m.At("child")+" && "+
		m.bin+" lock renew "+m.Mountpoint+" && "+m.bin+" lock release "+m.Mountpoint+" && ! touch "+m.At("after"))
	exit, said := b.wait()
	require.Zero(t, exit, said)
	require.Contains(t, said, "acquired source: token 1")
	require.Contains(t, said, "Read-only file system")
	require.FileExists(t, m.Behind("child"))
	require.NoFileExists(t, m.Behind("after"))
}

// specFields are the fields of a lock record (locking spec v6.3, lock record
// schema), and what each must be.
var specFields = map[string]string{
	"lock_id": `^"[^"]+"$`, "worktree_id": `^"source"$`, "holder_id": `^"[^":]+:[^":]+:\d+:\d+"$`,
	"holder_nonce": `^"[^"]{16,}"$`, "session_id": `^"[^"]+"$`, "acquire_seq": `^1$`,
	"created_at": rfc3339, "last_renewed_at": rfc3339, "lease_duration_ms": `^30000$`,
	"renew_interval_ms": `^10000$`, "max_clock_skew_ms": `^2000$`, "steal_grace_ms": `^1000$`,
	"lease_expires_at": rfc3339, "fencing_token": `^1$`,
}

const rfc3339 = `^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"$`

func TestLockJSON(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.mounted, m.wasMounted = true, true
	// Without a word about times: the defaults of the spec.
	m.cliOK("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.logFile())
	a := startActor(t, "a")
	began := time.Now()
	out := m.cliOK("lock", "acquire", "--json", "--purpose", "a test", "--pid", strconv.Itoa(a.pid()), m.Mountpoint)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &fields))
	for name, want := range specFields {
		require.Regexp(t, want, string(fields[name]), "%s of %s", name, out)
	}
	var r record
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 30*time.Second, r.ExpiresAt.Sub(r.RenewedAt))
	require.WithinDuration(t, began, r.RenewedAt, patience)
	require.JSONEq(t, `"a test"`, string(fields["purpose"]))
	require.Equal(t, ":root:"+strconv.Itoa(a.pid())+":", regexp.MustCompile(`:root:\d+:`).FindString(r.HolderID))
	// The file says the same, and nobody else may read it.
	file, _ := m.headClaim("")
	onDisk := readText(t, file)
	require.JSONEq(t, out, onDisk)
	info, err := os.Stat(m.LockDir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	var renewed record
	require.NoError(t, json.Unmarshal([]byte(m.cliOK("lock", "renew", "--json", "--pid", strconv.Itoa(a.pid()), m.Mountpoint)), &renewed))
	require.True(t, renewed.RenewedAt.After(r.RenewedAt))
	require.Equal(t, 30*time.Second, renewed.ExpiresAt.Sub(renewed.RenewedAt))
	m.release(a)
	next := m.acquire(a)
	require.Equal(t, uint64(2), next.token(t))
	require.Equal(t, uint64(2), next.AcquireSeq)
}

// An error says its class, the file, the holder and what to do, to people and
// to programs; the nonce is nobody's to see.
func TestLockErrors(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	m.cliOK("lock", "acquire", "--purpose", "long work", "--pid", strconv.Itoa(a.pid()), m.Mountpoint)
	file, r := m.headClaim("")
	out, errs, exit := m.CLI("lock", "acquire", "--pid", strconv.Itoa(b.pid()), m.Mountpoint)
	require.Equal(t, exitConflict, exit)
	require.Empty(t, out)
	require.Regexp(t, `(?s)^jvsfs: E_LOCK_CONFLICT: [^\n]+ \(file \S+/source\.lock; holder [^\n]+\)\nnext: [^\n]+\n$`, errs)
	require.Contains(t, errs, r.HolderID)
	require.Contains(t, errs, "for long work")

	out, _, exit = m.CLI(lockArgs("acquire", b, m.Mountpoint)...)
	require.Equal(t, exitConflict, exit)
	var said struct {
		Error struct {
			Class, Message, File, Next string
			Holder                     struct {
				HolderID string `json:"holder_id"`
				Purpose  string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &said), out)
	require.Equal(t, "E_LOCK_CONFLICT", said.Error.Class)
	require.Equal(t, "source.lock", filepath.Base(said.Error.File))
	require.Equal(t, r.HolderID, said.Error.Holder.HolderID)
	require.Equal(t, "long work", said.Error.Holder.Purpose)
	require.NotEmpty(t, said.Error.Message)
	require.NotEmpty(t, said.Error.Next)

	var secret struct {
		Nonce string `json:"holder_nonce"`
	}
	require.NoError(t, json.Unmarshal([]byte(readText(t, file)), &secret))
	require.NotEmpty(t, secret.Nonce)
	require.NotContains(t, out+errs+readText(t, m.logFile()), secret.Nonce)
}

// Another user releases and renews nothing, whether it names the holder or
// not; root may. A process of the same user that is not in scope may not.
func TestLockOfAnotherUser(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot})
	mine := identity{uid: 1000, gid: 1000}
	holder, sibling := startActorAs(t, "holder", mine), startActorAs(t, "sibling", mine)
	other := startActorAs(t, "other", identity{uid: 1001, gid: 1001})
	m.acquire(holder)
	holder.ok(m.put("by the holder"))
	for _, verb := range []string{"release", "renew"} {
		for _, by := range []struct {
			who   *actor
			named string
		}{{other, ""}, {other, " --pid " + strconv.Itoa(holder.pid())}, {sibling, ""}} {
			exit, said := by.who.run("/", "", m.bin+" lock "+verb+by.named+" "+m.Mountpoint)
			require.Equal(t, int64(exitNotHeld), exit, "%s by %s%s: %s", verb, by.who.name, by.named, said)
			require.Contains(t, said, "E_LOCK_NOT_HELD")
		}
	}
	exit, said := other.run("/", "", m.bin+" lock acquire --pid "+strconv.Itoa(sibling.pid())+" "+m.Mountpoint)
	require.Equal(t, int64(1), exit, said)
	exit, said = other.run("/", "", m.bin+" lock status --json "+m.Mountpoint)
	require.Zero(t, exit, said)
	require.NotContains(t, said, "holder_nonce")
	holder.ok(m.put("by the holder"))
	exit, said = holder.run("/", "", m.bin+" lock renew "+m.Mountpoint)
	require.Zero(t, exit, said)

	out, errs, code := m.CLI("lock", "renew", m.Mountpoint)
	require.Zero(t, code, out+errs)
	require.Contains(t, errs, "as root")
	out, errs, code = m.CLI("lock", "release", m.Mountpoint)
	require.Zero(t, code, out+errs)
	holder.fails(m.put("by the holder"), "EROFS")
}

// withOpenRoot lets everybody write into the root, as far as modes go.
func withOpenRoot(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, unix.Chmod(dir, 0o777))
}

func requireJSON(t testing.TB, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}
