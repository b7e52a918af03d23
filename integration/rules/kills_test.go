package rules

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// killRules are locks that are broken when their holder has ended, locks that go with it, and flocks.
const killRules = `- name: broken
  lock: 'broken/{i}.lock'
  taken_by: create
  guards: ['broken/{i}.data']
  break: {gone: true}
- name: swept
  lock: 'swept/{i}.lock'
  taken_by: create
  guards: ['swept/{i}.data']
  break: {gone: true}
  on_gone: remove
- name: flock
  lock: 'flock/{i}.lock'
  taken_by: flock
  guards: ['flock/{i}.data']
`

// arena is a mount with contenders for one lock of each rule, and strangers to all of them.
type arena struct {
	*harness.Mount
	t     *testing.T
	rng   *rand.Rand
	all   []*exec.Cmd
	roles []string
	began int
}

var killed = []string{"broken", "swept", "flock"}

func newArena(t *testing.T) *arena {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("JVSFS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("JVSFS_SEED=%d", seed)
	a := &arena{Mount: mountWith(t, killRules, "broken/i.data", "swept/i.data", "flock/i.data"), t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	for _, rule := range killed {
		require.NoError(t, os.Truncate(a.Behind(rule, "i.data"), 0))
		for _, how := range []string{rule, rule, rule, "stranger"} {
			a.roles, a.all = append(a.roles, how+" "+rule), append(a.all, nil)
			a.start(len(a.all) - 1)
		}
	}
	t.Cleanup(a.end)
	return a
}

func (a *arena) start(i int) {
	how, rule, _ := strings.Cut(a.roles[i], " ")
	a.began++
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s/history.%s.%d", contenderVar, how, a.At(rule), a.Base, rule, a.began))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(a.t, cmd.Start())
	a.all[i] = cmd
}

func (a *arena) kill(i int) {
	_ = a.all[i].Process.Kill()
	_ = a.all[i].Wait()
	a.all[i] = nil
}

func (a *arena) end() {
	for i, cmd := range a.all {
		if cmd != nil {
			a.kill(i)
		}
	}
}

// goOn waits until something more has been written under each rule: no lock is stuck.
func (a *arena) goOn() {
	a.t.Helper()
	for _, rule := range killed {
		was := a.size(rule)
		harness.Eventually(a.t, "somebody writes under "+rule, func() bool { return a.size(rule) > was })
	}
}

func (a *arena) size(rule string) int64 {
	st, err := os.Stat(a.Behind(rule, "i.data"))
	require.NoError(a.t, err)
	return st.Size()
}

// killAnywhere kills holders, those who wait, strangers, and one time of twenty the daemon, wherever they are.
func (a *arena) killAnywhere(kills int) (daemons int) {
	for n := range kills {
		if n%5 == 0 {
			a.goOn()
		}
		time.Sleep(time.Duration(a.rng.IntN(3000)) * time.Microsecond) // where it is met is chance
		if i := a.rng.IntN(len(a.all)); a.rng.IntN(20) > 0 {
			a.kill(i)
			a.start(i)
			continue
		}
		daemons++
		a.KillDaemon()
		a.Recover()
	}
	return daemons
}

// landed checks what the backing file shows: lines of one tenure after the other, all that were acknowledged, and no others.
func (a *arena) landed(rule string) (tenures, lines int) {
	told := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(a.Base, "history."+rule+".*"))
	require.NoError(a.t, err)
	for _, name := range files {
		for line := range strings.Lines(harness.ReadText(a.t, name)) {
			record, wrote := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "wrote ")
			require.True(a.t, wrote, "%s: %s", rule, line)
			told[record] = true
		}
	}
	over, last, next := map[string]bool{}, "", 0
	for line := range bytes.Lines([]byte(harness.ReadText(a.t, a.Behind(rule, "i.data")))) {
		record := strings.TrimSuffix(string(line), "\n")
		tenure, seq, _ := strings.Cut(record, " ")
		if tenure != last {
			require.False(a.t, over[tenure], "%s: %q landed after another holder's first line", rule, record)
			over[tenure], last, next = true, tenure, 0
			tenures++
		}
		require.Regexp(a.t, `^\d+\.\d+ \d+$`, record, rule)
		n, err := strconv.Atoi(seq)
		require.NoError(a.t, err)
		require.GreaterOrEqual(a.t, n, next, "%s: %q", rule, record)
		next = n + 1
		delete(told, record)
		lines++
	}
	require.Empty(a.t, told, "%s: acknowledged, and lost", rule)
	return tenures, lines
}

// Holders and the daemon are killed anywhere, 60 times (JVSFS_KILLS makes it more: scripts/rules-kill.sh). Nobody but the
// holder of a lock changes what it guards, a lock whose holder lives is never removed, and one whose holder has ended
// never stays in the way.
func TestKillsOfHoldersAndDaemonBreakNoProgramsLock(t *testing.T) {
	kills := harness.Rounds(60)
	if text := os.Getenv("JVSFS_KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	a := newArena(t)
	daemons := a.killAnywhere(kills)
	a.goOn()
	a.end()
	for _, rule := range killed {
		tenures, lines := a.landed(rule)
		t.Logf("%s: %d tenures, %d lines landed", rule, tenures, lines)
	}
	t.Logf("%d kills, %d of them of the daemon", kills, daemons)

	harness.Eventually(t, "the lock of one who was killed goes by itself", func() bool {
		_, err := os.Lstat(a.Behind("swept", "i.lock"))
		return os.IsNotExist(err)
	})
	lock := a.At("broken", "i.lock")
	heir := harness.StartActor(t, "heir")
	harness.Eventually(t, "anybody may break the lock of one who was killed", func() bool {
		r := heir.Do(harness.Command{Op: "unlink", Path: lock})
		return r.Errno == "" || r.Errno == unix.ErrnoName(unix.ENOENT)
	})
}
