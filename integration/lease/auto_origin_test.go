package lease

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A lease that was taken by writing says which command took it, and what that wrote: to who asks, and to who is
// refused.
func TestAnAutomaticLeaseSaysWhoTookIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, Prepare: harness.WithFiles("f")})
	require.NoError(t, os.MkdirAll(m.Behind("main", "src"), 0o755))
	mail := harness.NewMail(m)
	gate := mail.Gate("go")
	x := m.Start("sh", "-c", "touch "+m.At("main", "src", "new")+"; "+mail.Tell("wrote")+"; read go <"+gate)
	require.Equal(t, "0", mail.Take("wrote"))
	b := harness.StartActor(t, "b")
	b.Fails(m.Put("main", "f"), "EROFS")
	const by = `touch \(pid \d+\), which wrote src/new`
	require.Regexp(t, by, m.MustCLI("status"))
	require.Regexp(t, by, m.MustCLI("lock", "status", m.At("main")))
	out, _, exit := m.CLI("explain", "--pid", harness.PIDOf(b), m.At("main", "f"))
	require.Equal(t, harness.ExitConflict, exit)
	require.Regexp(t, `is being written by \S+ \(session\) for `+by+` \(token 1, `, out)
	require.Regexp(t, by, m.WorktreeStatus("main").LastRefusals[0])
	mail.Open("go")
	_, _ = x.Wait()
}

// Names that not everybody may see are not told, and a command's name reaches no terminal as it is.
func TestAnAutomaticLeaseShowsNoPrivateName(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	require.NoError(t, os.Mkdir(m.Behind("private"), 0o700))
	hostile := filepath.Join(m.Base, "a\x1b[2Jb")
	text, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(hostile, text, 0o755))
	mail := harness.NewMail(m)
	gate := mail.Gate("go")
	x := m.Start(hostile, "-c", ">"+m.At("private", "secret")+"; "+mail.Tell("wrote")+"; read go <"+gate)
	require.Equal(t, "0", mail.Take("wrote"))
	for _, out := range []string{m.MustCLI("status"), m.MustCLI("status", "--json"), m.MustCLI("lock", "status", m.Mountpoint)} {
		require.NotContains(t, out, "secret")
		require.NotContains(t, out, "private")
		require.NotContains(t, out, "\x1b")
		require.Contains(t, out, "a?[2Jb (pid ")
	}
	mail.Open("go")
	_, _ = x.Wait()
}

// Who takes such a lease on purpose says what for, or nothing: it is not for the command that wrote first any more.
func TestAnAutomaticLeaseTakenOnPurposeForgetsWhoTookIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	mail := harness.NewMail(m)
	gate, end := mail.Gate("go"), mail.Gate("end")
	x := m.Start("sh", "-c", ">"+m.At("f")+"; "+mail.Tell("wrote")+"; read go <"+gate+"; "+m.Bin+" lock acquire "+m.Mountpoint+"; "+mail.Tell("took")+"; read go <"+end)
	require.Equal(t, "0", mail.Take("wrote"))
	require.Contains(t, m.MustCLI("status"), "which wrote f")
	mail.Open("go")
	require.Equal(t, "0", mail.Take("took"))
	require.EqualValues(t, 1, m.WorktreeStatus("source").Token, "it is the same lease")
	require.NotContains(t, m.MustCLI("status"), "which wrote")
	require.NotContains(t, m.MustCLI("lock", "status", m.Mountpoint), "which wrote")
	mail.Open("end")
	_, _ = x.Wait()
}
