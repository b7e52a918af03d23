package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const agencyRule = `- name: agency
  lock: 'repos/{repo}/.lock'
  taken_by: create
  guards: ['repos/{repo}/**']
  except: ['repos/*/.lock']
  break: {gone: true}
`

func take(lock string) harness.Command {
	return harness.Command{Op: "writefile", Path: lock, Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte("x")}
}

// A daemon that recovers the mount of a killed one knows who holds which lock, and who may break one.
func TestProgramsLocksSurviveAKillOfTheDaemon(t *testing.T) {
	m := mountWith(t, agencyRule, "repos/a/f", "repos/b/f", "repos/c/f")
	holder, other, gone := harness.StartActor(t, "holder"), harness.StartActor(t, "other"), harness.StartActor(t, "gone")
	a, b, c := m.At("repos", "a", ".lock"), m.At("repos", "b", ".lock"), m.At("repos", "c", ".lock")
	try(t, holder, []attempt{{"take a", take(a), ""}, {"take b", take(b), ""}, {"give up b", harness.Command{Op: "unlink", Path: b}, ""}})
	try(t, gone, []attempt{{"take c", take(c), ""}})
	gone.End()
	m.KillDaemon()
	m.Recover()
	write := func(repo string) harness.Command {
		return harness.Command{Op: "writefile", Path: m.At("repos", repo, "f"), Data: []byte("y")}
	}
	try(t, other, []attempt{
		{"another writes", write("a"), "EROFS"}, {"another removes the lock", harness.Command{Op: "unlink", Path: a}, "EROFS"}, {"nobody holds b", write("b"), "EROFS"},
		{"the lock of a dead one", harness.Command{Op: "unlink", Path: c}, ""}, {"take c", take(c), ""}, {"write c", write("c"), ""},
	})
	try(t, holder, []attempt{{"the holder writes", write("a"), ""}, {"and gives up", harness.Command{Op: "unlink", Path: a}, ""}})
	try(t, other, []attempt{{"take a", take(a), ""}, {"write a", write("a"), ""}})
}

// Two daemons would not know of each other's tenures.
func TestASecondMountOfADirectoryWithRulesIsRefused(t *testing.T) {
	m := mountWith(t, agencyRule, "repos/a/f")
	_, errs, exit := m.CLI("mount", "--mode", "shared", "--rules", "agency", "--control", m.LockDir, m.Source, t.TempDir())
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "another mount of the same directory has rules for lock files")
	require.Contains(t, errs, "umount the other one, or replace it")
	try(t, harness.StartActor(t, "one"), []attempt{{"the first goes on", take(m.At("repos", "a", ".lock")), ""}})
}

// Rules hold for everybody who comes to a directory, so a second mount has the same, or is refused: whichever of the two was first.
func TestMountsThatDisagreeAboutRulesAreRefused(t *testing.T) {
	m := mountWith(t, agencyRule, "repos/a/f")
	second := func(options ...string) (string, int) {
		_, errs, exit := m.CLI(append(append([]string{"mount", "--control", m.LockDir}, options...), m.Source, t.TempDir())...)
		return errs, exit
	}
	errs, exit := second("--mode", "shared")
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "it is served by another mount that has others, or none, and would let everybody past them")
	m.Unmount()
	m.Opts.Extra = []string{"--mode", "shared"}
	m.Mount()
	errs, exit = second("--rules", "agency", "--mode", "shared")
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "it is served by another mount")
}
