package lease

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A lease is bound to the process that --pid names: it is renewed while that
// lives, many times over, and released when it ends.
func TestALeaseOfPidIsRenewedWhileTheProcessLives(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.Start("sh", "-c", "read x <"+l.Gate("write")+"; echo x >"+m.At("written")+"; "+l.Tell("written")+"; read x <"+l.Gate("end"))
	var first harness.Record
	require.NoError(t, json.Unmarshal([]byte(m.MustCLI("lock", "acquire", "--json", "--pid", strconv.Itoa(b.PID()), m.Mountpoint)), &first))
	require.Contains(t, first.HolderID, ":"+strconv.Itoa(b.PID())+":")
	harness.Eventually(t, "the lease outlives its length three times", func() bool {
		_, now := m.HeadClaim("")
		require.Equal(t, first.TokenNumber(t), now.TokenNumber(t))
		require.False(t, now.Released)
		return now.RenewedAt.Sub(first.RenewedAt) > 3*harness.Hasty.Lease
	})
	l.Open("write")
	require.Equal(t, "0", l.Take("written"))
	l.Open("end")
	exit, errs := b.Wait()
	require.Zero(t, exit, errs)
	harness.Eventually(t, "the lease is released", func() bool {
		_, now := m.HeadClaim("")
		return now.Released
	})
	_, last := m.HeadClaim("")
	require.Equal(t, first.TokenNumber(t), last.TokenNumber(t), "nobody else took it")
}

// Without --pid it is the process that runs the command: a shell, with what it
// starts.
func TestLockAcquireWithoutPidBindsTheLeaseToTheShell(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	b := m.Start("sh", "-c", "echo x >"+m.At("f")+"; "+m.Bin+" lock acquire "+m.Mountpoint+" && touch "+m.At("child")+" && "+
		m.Bin+" lock renew "+m.Mountpoint+" && "+m.Bin+" lock release "+m.Mountpoint+" && ! touch "+m.At("after"))
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, said, "acquired source: token 1")
	require.Contains(t, said, "Read-only file system")
	require.FileExists(t, m.Behind("child"))
	require.NoFileExists(t, m.Behind("after"))
}

// A lease is bound to no harness by mistake: bash becomes the last command of bash -c, and
// what has started bash is then the parent. Who means it says so.
func TestLockAcquireBindsNoLeaseToAHarnessByMistake(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "harness")
	for _, verb := range []string{"acquire", "steal --yes"} {
		exit, said := a.Run("/", "", "exec bash -c '"+m.Bin+" lock "+verb+" "+m.Mountpoint+"'")
		require.EqualValues(t, 2, exit, said)
		require.Contains(t, said, "process "+strconv.Itoa(a.PID())+" (")
		require.Contains(t, said, "which has started this command and is no shell: all that it starts could write")
		require.Contains(t, said, "next: run what is to write by jvsfs exec; or name who is to hold the lease: --pid $$ in a shell that goes on")
	}
	exit, said := a.Run("/", "", "exec bash -c '"+m.Bin+" lock acquire --pid $$ "+m.Mountpoint+"'")
	require.EqualValues(t, 2, exit, said)
	require.Contains(t, said, "is this command, which ends at once")
	exit, said = a.Run("/", "", "unshare --pid --fork --mount-proc bash -c '"+m.Bin+" lock acquire "+m.Mountpoint+"; exit $?'")
	require.EqualValues(t, 2, exit, said)
	require.Contains(t, said, "adopts every orphan")
	a.Fails(m.Put("f"), "EROFS")

	exit, said = a.Run("/", "", "exec bash -c '"+m.Bin+" lock acquire --pid $$ "+m.Mountpoint+" && touch "+m.At("by the shell")+"; exit $?'")
	require.Zero(t, exit, said)
	exit, said = a.Run("/", "", "exec bash -c '"+m.Bin+" lock acquire --wait 10m --pid "+strconv.Itoa(a.PID())+" "+m.Mountpoint+"'")
	require.Zero(t, exit, said)
	a.OK(m.Put("f"))
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

func TestLockCommandsAnswerInJSON(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	m.Mounted, m.WasMounted = true, true
	// Without a word about times: the defaults of the spec.
	m.MustCLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile())
	a := harness.StartActor(t, "a")
	began := time.Now()
	out := m.MustCLI("lock", "acquire", "--json", "--purpose", "a test", "--pid", strconv.Itoa(a.PID()), m.Mountpoint)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &fields))
	for name, want := range specFields {
		require.Regexp(t, want, string(fields[name]), "%s of %s", name, out)
	}
	var r harness.Record
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 30*time.Second, r.ExpiresAt.Sub(r.RenewedAt))
	require.WithinDuration(t, began, r.RenewedAt, harness.Patience)
	require.JSONEq(t, `"a test"`, string(fields["purpose"]))
	require.Equal(t, ":root:"+strconv.Itoa(a.PID())+":", regexp.MustCompile(`:root:\d+:`).FindString(r.HolderID))
	// The file says the same, and nobody else may read it.
	file, _ := m.HeadClaim("")
	onDisk := harness.ReadText(t, file)
	require.JSONEq(t, out, onDisk)
	info, err := os.Stat(m.LockDir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	var renewed harness.Record
	require.NoError(t, json.Unmarshal([]byte(m.MustCLI("lock", "renew", "--json", "--pid", strconv.Itoa(a.PID()), m.Mountpoint)), &renewed))
	require.True(t, renewed.RenewedAt.After(r.RenewedAt))
	require.Equal(t, 30*time.Second, renewed.ExpiresAt.Sub(renewed.RenewedAt))
	m.Release(a)
	next := m.Acquire(a)
	require.Equal(t, uint64(2), next.TokenNumber(t))
	require.Equal(t, uint64(2), next.AcquireSeq)
}

// An error says its class, the file, the holder and what to do, to people and
// to programs; the nonce is nobody's to see.
func TestLockErrorsNameTheClassTheFileAndTheHolder(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.MustCLI("lock", "acquire", "--purpose", "long work", "--pid", strconv.Itoa(a.PID()), m.Mountpoint)
	file, r := m.HeadClaim("")
	out, errs, exit := m.CLI("lock", "acquire", "--pid", strconv.Itoa(b.PID()), m.Mountpoint)
	require.Equal(t, harness.ExitConflict, exit)
	require.Empty(t, out)
	require.Regexp(t, `(?s)^jvsfs: E_LOCK_CONFLICT: [^\n]+ \(file \S+/source\.lock; holder [^\n]+\)\nnext: [^\n]+\n$`, errs)
	require.Contains(t, errs, r.HolderID)
	require.Contains(t, errs, "for long work")

	out, _, exit = m.CLI(harness.LockArgs("acquire", b, m.Mountpoint)...)
	require.Equal(t, harness.ExitConflict, exit)
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
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, file)), &secret))
	require.NotEmpty(t, secret.Nonce)
	require.NotContains(t, out+errs+harness.ReadText(t, m.LogFile()), secret.Nonce)
}

// Another user releases and renews nothing, whether it names the holder or
// not; root may. A process of the same user that is not in scope may not.
func TestAnotherUserNeitherReleasesNorRenewsALease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	mine := harness.Identity{UID: 1000, GID: 1000}
	holder, sibling := harness.StartActorAs(t, "holder", mine), harness.StartActorAs(t, "sibling", mine)
	other := harness.StartActorAs(t, "other", harness.Identity{UID: 1001, GID: 1001})
	m.Acquire(holder)
	holder.OK(m.Put("by the holder"))
	for _, verb := range []string{"release", "renew"} {
		for _, by := range []struct {
			who   *harness.Actor
			named string
		}{{other, ""}, {other, " --pid " + strconv.Itoa(holder.PID())}, {sibling, ""}} {
			exit, said := by.who.Run("/", "", m.Bin+" lock "+verb+by.named+" "+m.Mountpoint)
			require.Equal(t, int64(harness.ExitNotHeld), exit, "%s by %s%s: %s", verb, by.who.Name, by.named, said)
			require.Contains(t, said, "E_LOCK_NOT_HELD")
		}
	}
	exit, said := other.Run("/", "", m.Bin+" lock acquire --pid "+strconv.Itoa(sibling.PID())+" "+m.Mountpoint)
	require.Equal(t, int64(1), exit, said)
	exit, said = other.Run("/", "", m.Bin+" lock status --json "+m.Mountpoint)
	require.Zero(t, exit, said)
	require.NotContains(t, said, "holder_nonce")
	holder.OK(m.Put("by the holder"))
	exit, said = holder.Run("/", "", m.Bin+" lock renew "+m.Mountpoint)
	require.Zero(t, exit, said)

	out, errs, code := m.CLI("lock", "renew", m.Mountpoint)
	require.Zero(t, code, out+errs)
	require.Contains(t, errs, "as root")
	out, errs, code = m.CLI("lock", "release", m.Mountpoint)
	require.Zero(t, code, out+errs)
	holder.Fails(m.Put("by the holder"), "EROFS")
}
