package lease

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// slowRead lets time pass right after the clocks were read for the n-th time, as a slow read of the record does.
type slowRead struct {
	*fakeClock
	reads, at int
	takes     time.Duration
	after     func()
}

func (c *slowRead) Boot() time.Duration {
	boot := c.fakeClock.Boot()
	if c.reads++; c.reads == 2*c.at { // readClocks reads boot, wall, boot
		c.advance(c.takes)
		if c.after != nil {
			c.after()
		}
	}
	return boot
}

func watching(d *Dir, c Clock) *watcher {
	return &watcher{cfg: KeeperConfig{Store: d.Store("main"), Policy: record.DefaultPolicy(), Clock: c}}
}

// left is a directory with a lease whose holder died at once.
func left(t *testing.T, c *fakeClock, at tier) *Dir {
	d := testDir(t)
	d.tier = at
	a := newRig(t, d, c)
	a.must(t, ann)
	a.own().close()
	a.crash()
	return d
}

// Rule 5. A record that is read slowly may be renewed between the read and the look at the clock.
func TestTheClockIsReadBeforeTheRecord(t *testing.T) {
	c := newFakeClock()
	d := left(t, c, tierA)
	c.advance(32 * time.Second) // expired; skew and grace end at 33 s
	_, j, err := watching(d, &slowRead{fakeClock: c, at: 1, takes: 10 * time.Second}).look()
	require.NoError(t, err)
	require.Equal(t, Expired, j.State, j.Reason)
}

// Rule 6. A silence begins after the first read of the record.
func TestSilenceCountsFromAfterTheFirstRead(t *testing.T) {
	c := newFakeClock()
	d := left(t, c, tierRemote)
	c.advance(time.Minute)
	w := watching(d, &slowRead{fakeClock: c, at: 1, takes: time.Minute})
	for range 2 {
		_, j, err := w.look()
		require.NoError(t, err)
		require.Equal(t, Expired, j.State, j.Reason)
		require.Contains(t, j.Reason, "watched")
	}
	c.advance(33 * time.Second)
	_, j, err := w.look()
	require.NoError(t, err)
	require.Equal(t, Stealable, j.State, j.Reason)
}

// Rule 6. The thief's own policy may be short. The holder counts on the policy in its record.
func TestSilenceLastsByTheLongerPolicy(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = tierRemote
	a := newRig(t, d, c, func(k *KeeperConfig) { k.Policy.LeaseDuration = time.Minute })
	a.cfg.Policy = record.DefaultPolicy()
	a.cfg.Policy.LeaseDuration = time.Minute
	a.must(t, ann)
	a.crash()
	w := watching(d, c)
	c.advance(time.Hour)
	for _, passes := range []time.Duration{0, 62 * time.Second, time.Second} {
		c.advance(passes)
		_, j, err := w.look()
		require.NoError(t, err)
		require.Equal(t, map[bool]State{true: Stealable, false: Expired}[passes == time.Second], j.State, j.Reason)
	}
}

// Rules 6 and 7. A thief whose clock is a minute ahead finds a living lease stealable at its first look.
func TestATakerWhoseClockIsAheadNeverRobsALivingHolder(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = tierRemote
	a := newRig(t, d, c)
	thief := newRig(t, d, c, func(k *KeeperConfig) { k.Clock = offClock{c, time.Minute} })
	a.must(t, ann)
	w := watching(d, offClock{c, time.Minute}) // as the thief sees it, without the stamps, which contradict it too
	skewed := 0
	for range 20 {
		_, j, err := w.look()
		require.NoError(t, err)
		require.NotEqual(t, Stealable, j.State)
		a.gate.unlock() // another kernel's flock, which the thief does not meet
		_, err = thief.Steal(bg, bob)
		require.Error(t, err)
		require.True(t, a.gate.hasShared())
		if ClassOf(err) == ClassClockSkewExceeded {
			skewed++
		}
		c.advance(5 * time.Second)
		a.tick()
		require.True(t, a.fence.passes())
	}
	require.Greater(t, skewed, 10, "from the first change on it knows that its clock is wrong")
}

// Rule 6. flock proves something on the file systems that are listed, and on no others.
func TestAnUnknownFileSystemCountsAsShared(t *testing.T) {
	proc, err := os.Open("/proc")
	require.NoError(t, err)
	defer proc.Close()
	require.True(t, SharedStore(int(proc.Fd())))
	require.True(t, SharedStore(-1), "what cannot be asked is unknown")
}

// Rule 7. The bound for one clock, while watching or between renewals, is half the bound for two hosts.
func TestAClockStepOfHalfTheBoundIsTolerated(t *testing.T) {
	for step, class := range map[time.Duration]Class{
		time.Second: "", -time.Second: "",
		time.Second + time.Millisecond: ClassClockSkewExceeded, -time.Second - time.Millisecond: ClassClockSkewExceeded,
	} {
		d, c := testDir(t), newFakeClock()
		a := newRig(t, d, c)
		a.must(t, ann)
		c.stepWall(step)
		_, err := a.Renew(bg)
		require.Equal(t, class, ClassOf(err), "%v: %v", step, err)
		require.Equal(t, class == "", a.fence.isOpen(), "%v", step)
	}
}

// Rule 7. If a thief's clock is set back, the record seems to be from the future. If it is set forward, the record seems old. The thief
// believes neither.
func TestAClockStepOfATakerTakesNoLease(t *testing.T) {
	for step, class := range map[time.Duration]Class{-time.Hour: ClassClockSkewExceeded, time.Hour: ClassClockSkewExceeded, -10 * time.Second: ClassClockSkewExceeded} {
		d, c := testDir(t), newFakeClock()
		a, b := newRig(t, d, c), newRig(t, d, c)
		a.must(t, ann)
		a.crash()
		_, err := b.Steal(bg, bob)
		requireClass(t, ClassLockConflict, err)
		c.stepWall(step)
		_, err = b.Steal(bg, bob)
		require.Equal(t, class, ClassOf(err), "%v: %v", step, err)
	}
}

// A laptop sleeps: both clocks go on, nothing runs. At the first instruction afterwards the fence must refuse, before any timer, and no
// renewal may reopen it. (If the holder may go on, that is under another token: rules_resume_test.go.)
func TestASuspendPastTheDeadlineEndsTheEpoch(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c, neverResumes), newRig(t, d, c)
	a.must(t, ann)
	require.True(t, a.fence.passes())
	c.advance(10 * time.Hour)
	require.False(t, a.fence.passes(), "no write passes, though nobody has closed anything yet")
	_, err := a.Renew(bg)
	requireClass(t, ClassLockExpired, err)
	require.Equal(t, []LossKind{LossExpired}, a.fence.kinds())
	require.EqualValues(t, 2, b.must(t, bob).Token)
	_, err = a.Acquire(bg, ann)
	requireClass(t, ClassLockConflict, err)
}

// The wall clock of a machine may stand still in suspend until something sets it. The boot clock alone ends the epoch.
func TestASuspendThatOnlyTheBootClockCountsEndsTheEpoch(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c, neverResumes)
	a.must(t, ann)
	c.advance(time.Hour)
	c.stepWall(-time.Hour)
	require.False(t, a.fence.passes())
	a.tick()
	require.Equal(t, []LossKind{LossExpired}, a.fence.kinds())
}

func TestSuspendWithinTheLeaseIsRenewed(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	c.advance(19 * time.Second)
	require.True(t, a.fence.passes())
	a.tick()
	require.True(t, a.fence.passes())
	require.Equal(t, c.Boot()+20*time.Second, a.fence.grant.Deadline)
}

// Rule 6 counts the boot time between two reads. A thief that slept between them may take over.
func TestATakerCountsTheTimeOfItsSuspendAsSilence(t *testing.T) {
	c := newFakeClock()
	d := left(t, c, tierRemote)
	w := watching(d, c)
	_, j, err := w.look()
	require.NoError(t, err)
	require.Equal(t, Held, j.State)
	c.advance(time.Hour)
	_, j, err = w.look()
	require.NoError(t, err)
	require.Equal(t, Stealable, j.State, j.Reason)
}

// asBootClock makes the test binary print the boot clock: see below.
const asBootClock = "LEASE_TEST_BOOT_CLOCK"

// Rule 9. CLOCK_MONOTONIC, by which Go counts time, stands still in suspend. A time namespace can move one clock alone, as a suspend
// does.
func TestTheBootClockCountsSuspend(t *testing.T) {
	if os.Getenv(asBootClock) != "" {
		fast, ok := vdsoBoot()
		if !ok {
			fast = SystemClock().Boot()
		}
		t.Logf("boot=%d fast=%d", SystemClock().Boot(), fast)
		return
	}
	const slept = 1_000_000 * time.Second
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("unshare", "--map-root-user", "--time", "--fork", "--boottime", strconv.Itoa(int(slept/time.Second)),
		exe, "-test.run=^TestTheBootClockCountsSuspend$", "-test.v")
	cmd.Env = append(os.Environ(), asBootClock+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "boot=") {
		t.Skipf("no time namespace here: %v: %s", err, out)
	}
	for _, clock := range []string{"boot=", "fast="} { // the second without a system call
		_, after, ok := strings.Cut(string(out), clock)
		require.True(t, ok, "%s", out)
		read, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		require.NoError(t, err)
		require.InDelta(t, SystemClock().Boot().Seconds()+slept.Seconds(), time.Duration(read).Seconds(), 60, clock)
	}
}

// Rule 8.
func TestARenewalThatEndsAfterTheOldDeadlineDoesNotCount(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c, neverResumes)
	a.must(t, ann)
	a.once("renew.after_write", func() { c.advance(25 * time.Second) })
	_, err := a.Renew(bg)
	requireClass(t, ClassLockExpired, err)
	require.Equal(t, []LossKind{LossExpired}, a.fence.kinds())
	_, held := a.Held()
	require.False(t, held || a.fence.isOpen())
}

// Rule 9. The drain takes time, so it must begin before the deadline.
func TestTheCloseBeginsShortlyBeforeTheDeadline(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c, neverResumes)
	a.live = Stopped
	a.must(t, ann)
	lead := record.DefaultPolicy().CloseLead()
	require.Positive(t, lead)
	c.advance(20*time.Second - lead - 1)
	a.tick()
	require.True(t, a.fence.isOpen())
	c.advance(1)
	a.tick()
	require.Equal(t, []LossKind{LossExpired}, a.fence.kinds())
}

// Rules 9 and 16. A holder that is stopped and may go on is closed earlier: its stores through mappings are written back meanwhile.
func TestAStoppedHolderIsClosedInTimeToWriteItsPagesBack(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	a.live = Stopped
	lead := record.DefaultPolicy().PauseLead()
	require.Greater(t, lead, record.DefaultPolicy().CloseLead())
	c.advance(20*time.Second - lead - a.cfg.Tick)
	a.tick()
	require.True(t, a.fence.isOpen())
	a.fence.onClose = func(Loss) { require.True(t, a.fence.passes(), "what is written back passes") }
	c.advance(a.cfg.Tick)
	a.tick()
	require.Equal(t, []LossKind{LossPaused}, a.fence.kinds())
	a.fence.onClose = nil
}
