package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

func TestLockAcquiresRenewsAndReleasesWithoutAMount(t *testing.T) {
	main, locks := testkit.Repository(t)
	me := strconv.Itoa(os.Getpid())
	code, out, errs := command("lock", "acquire", "--json", "--pid", me, "--purpose", "tests", main)
	require.Equal(t, api.ExitOK, code, errs)
	rec := new(record.Record)
	require.NoError(t, json.Unmarshal([]byte(out), rec))
	require.Equal(t, lease.Token(1), rec.FencingToken)
	require.Equal(t, os.Getpid(), rec.Holder().PID)
	require.Contains(t, errs, "no mount fences")

	code, out, _ = command("lock", "acquire", "--json", "--pid", me, main)
	require.Equal(t, api.ExitOK, code, "the holder may acquire again")
	require.Contains(t, out, `"fencing_token": 1,`)

	code, _, errs = command("lock", "renew", main)
	require.Equal(t, api.ExitOK, code, errs)
	code, out, _ = command("explain", main+"/f")
	require.Equal(t, api.ExitOK, code)
	require.Contains(t, out, "nothing fences writes there; the record of worktree main is held")

	code, _, errs = command("lock", "release", main)
	require.Equal(t, api.ExitOK, code, errs)
	require.NoFileExists(t, filepath.Join(locks, "main.lock"))
	code, _, _ = command("lock", "release", main)
	require.Equal(t, api.ExitNotHeld, code)

	code, out, _ = command("lock", "acquire", "--json", "--pid", me, main)
	require.Equal(t, api.ExitOK, code)
	require.Contains(t, out, `"fencing_token": 2,`, "tokens grow over release")
}

func TestALeaseOfAnotherProcessIsAConflict(t *testing.T) {
	main, _ := testkit.Repository(t)
	other := exec.Command("sleep", "60")
	require.NoError(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	pid := strconv.Itoa(other.Process.Pid)
	code, _, errs := command("lock", "acquire", "--pid", pid, main)
	require.Equal(t, api.ExitOK, code, errs)

	code, out, errs := command("lock", "acquire", "--json", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, api.ExitConflict, code)
	require.Contains(t, errs, "E_LOCK_CONFLICT")
	require.Contains(t, out, `"pid": `+pid)
	require.NotContains(t, out+errs, "nonce")

	code, _, _ = command("lock", "renew", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, api.ExitNotHeld, code, "a process that is not in the scope, named on purpose, root or not")
	code, _, errs = command("lock", "release", "--pid", pid, main)
	require.Equal(t, api.ExitOK, code, errs)
}

func TestLockStatusMakesNoFile(t *testing.T) {
	main, locks := testkit.Repository(t)
	code, out, _ := command("lock", "status", main)
	require.Equal(t, api.ExitOK, code)
	require.Contains(t, out, "free")
	require.NoDirExists(t, locks)
}

func TestAnUnreadableRecordIsNotTakenForALease(t *testing.T) {
	main, locks := testkit.Repository(t)
	require.NoError(t, os.Mkdir(locks, 0o700))
	name := filepath.Join(locks, "main.claim.00000000000000000003")
	require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	me := strconv.Itoa(os.Getpid())
	for _, args := range [][]string{{"acquire", "--pid", me}, {"release"}, {"steal", "--pid", me}} {
		code, _, errs := command(append(append([]string{"lock"}, args...), main)...)
		require.Equal(t, api.ExitStore, code, "%v: %s", args, errs)
	}
	require.FileExists(t, name)
	code, out, _ := command("doctor", main)
	require.Equal(t, api.ExitError, code)
	require.Contains(t, out, "fail  records")
}

// What the store answers about a lease that is over or changed hands is tested in package lease; here, that the commands say it.
func TestALeaseThatWasTakenOverIsNeitherRenewedNorReleased(t *testing.T) {
	main, locks := testkit.Repository(t)
	code, _, errs := command("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), main)
	require.Equal(t, api.ExitOK, code, errs)
	own := filepath.Join(locks, "main.claim.00000000000000000001")
	before, err := os.ReadFile(own)
	require.NoError(t, err)
	successor := strings.Replace(string(before), `"fencing_token":1,`, `"fencing_token":2,`, 1)
	successor = strings.Replace(successor, `"released":false`, `"released":true `, 1)
	require.NoError(t, os.WriteFile(filepath.Join(locks, "main.claim.00000000000000000002"), []byte(successor), 0o600))
	for _, op := range []string{"renew", "release"} {
		code, _, errs = command("lock", op, main)
		require.Equal(t, api.ExitNotHeld, code, errs)
	}
	after, err := os.ReadFile(own)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestDoctorFindsWhatIsWrongWithALockDirectory(t *testing.T) {
	main, locks := testkit.Repository(t)
	require.NoError(t, os.Mkdir(locks, 0o755))
	require.NoError(t, os.Chmod(locks, 0o755)) // whatever the umask
	tmp := filepath.Join(locks, "main.lock.tmp."+strings.Repeat("ab", 16))
	require.NoError(t, os.WriteFile(tmp, nil, 0o600))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(tmp, old, old))
	code, out, _ := command("doctor", main)
	require.Equal(t, api.ExitError, code)
	require.Contains(t, out, "has mode 0755")
	require.Contains(t, out, "left of a command that was interrupted")
	require.Equal(t, 1, strings.Count(out, "leftovers"))
}

func TestExecEndsWithItsExitCodesWithoutAMount(t *testing.T) {
	main, _ := testkit.Repository(t)
	out := filepath.Join(main, "out")
	for name, c := range map[string]struct {
		args []string
		code api.ExitCode
	}{
		"success":        {[]string{"sh", "-c", "echo x > " + out}, 0},
		"its exit code":  {[]string{"sh", "-c", "exit 7"}, 7},
		"its signal":     {[]string{"sh", "-c", "kill -TERM $$"}, 143},
		"not found":      {[]string{"no-such-command"}, api.ExitNotFound},
		"not executable": {[]string{main}, api.ExitNotRun},
	} {
		code, _, errs := command(append([]string{"exec", main, "--"}, c.args...)...)
		require.Equal(t, c.code, code, "%s: %s", name, errs)
		code, status, _ := command("lock", "status", main)
		require.Equal(t, api.ExitOK, code)
		require.Contains(t, status, "it was released", name)
	}
	require.FileExists(t, out)
}

func TestExecHoldsTheLeaseForItsCommand(t *testing.T) {
	main, _ := testkit.Repository(t)
	code, out, errs := command("exec", "--purpose", "inner", main, "--", "sh", "-c",
		"/proc/"+strconv.Itoa(os.Getpid())+"/exe lock status --json "+main+"; echo pid $$")
	require.Equal(t, api.ExitOK, code, errs)
	status, pid, _ := strings.Cut(out, "pid ")
	var st api.LockStatus
	require.NoError(t, json.Unmarshal([]byte(status), &st))
	require.Equal(t, "held", st.State)
	require.Equal(t, strings.TrimSpace(pid), strconv.Itoa(api.RecordOf(st.Record).Holder().PID), "the lease is bound to CMD itself")
}
