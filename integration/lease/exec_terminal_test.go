package lease

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// inShell starts a shell with job control on a terminal of its own. What it shows is never what was typed: its lines are not echoed.
func inShell(t *testing.T) *conversation {
	t.Helper()
	c := onTerminal(t, "bash", "--norc", "--noprofile", "--noediting", "-i")
	c.types("stty -echo; PS1=; echo ready $((1+1))\n")
	c.shows("ready 2")
	return c
}

// tellsStatus has the shell show the exit status at each prompt. What is typed beside Ctrl-C may be read by the command, or thrown away.
const tellsStatus = "PROMPT_COMMAND='echo status $?'\n"

// leave ends the shell, which must still have the terminal.
func (c *conversation) leave() {
	c.t.Helper()
	c.types("exit 7\n")
	c.ends(7)
}

func TestExecLeavesTheTerminalToThePagerBesideIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	c := inShell(t)
	c.types(m.Bin + " exec " + m.Mountpoint + ` -- echo text | sh -c 'read line; echo "shows $line"; read key </dev/tty; echo "key $key"'` + "\n")
	c.shows("shows text")
	c.types("q\n")
	c.shows("key q")
	c.leave()
}

// A pipe on standard input does not keep CMD from asking the terminal (a password), in a pipeline, a script or the background.
func TestExecGivesTheTerminalToWhoAsksForIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	asks := m.Bin + " exec " + m.Mountpoint + ` -- sh -c 'echo "asks"; read key </dev/tty; echo "key $key"'`
	for where, line := range map[string]string{
		"alone":         asks,
		"in a pipeline": "echo a | " + asks,
		"in a script":   "bash -c " + "'" + strings.ReplaceAll(asks+`; read more; echo "the script reads $more"`, "'", `'\''`) + "'",
	} {
		t.Run(where, func(t *testing.T) {
			c := inShell(t)
			c.types(line + "\n")
			c.shows("asks")
			c.types("k1\n")
			c.shows("key k1")
			if where == "in a script" {
				c.types("k2\n")
				c.shows("the script reads k2")
			}
			c.leave()
		})
	}
}

// A job in the background takes no terminal from the shell. When it asks for it, it stops, and gets it with fg.
func TestExecInTheBackgroundWaitsForTheTerminal(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	c := inShell(t)
	c.types(m.Bin + " exec " + m.Mountpoint + " -- true & wait; echo waited $?\n")
	c.shows("waited 0")
	c.types(m.Bin + " exec " + m.Mountpoint + ` -- sh -c 'read key; echo "key $key"' &` + "\n")
	c.types("until jobs | grep Stopped; do sleep 0.1; done; echo stopped $((1+1)); fg\n")
	c.shows("stopped 2")
	c.types("k\n")
	c.shows("key k")
	c.leave()
}

// Ctrl-Z stops the whole pipeline, CMD as well, and fg continues it.
func TestCtrlZStopsTheCommandOfAPipeline(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	l := harness.NewMail(m)
	c := inShell(t)
	c.types(m.Bin + " exec " + m.Mountpoint + " -- sh -c 'echo $$ >" + l.Dir + "/pid; echo began; read x <" + l.Gate("end") + "; echo over' | cat\n")
	c.shows("began")
	c.types("\x1a")
	c.shows("Stopped")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	require.Equal(t, "T", harness.ProcState(pid))
	c.types("fg\n")
	harness.Eventually(t, "it goes on", func() bool { return harness.ProcState(pid) == "S" })
	l.Open("end")
	c.shows("over")
	c.leave()
}

// Where no shell could continue a command, Ctrl-Z stops nothing.
func TestCtrlZStopsNothingWhereNoShellCouldContinueIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	c := onTerminal(t, m.Bin, "exec", m.Mountpoint, "--", "sh", "-c", `stty -echo; echo began; while read key; do echo "key $key"; done`)
	c.shows("began")
	c.types("\x1a")
	c.types("k\n")
	c.shows("key k")
	c.types("\x04")
	c.ends(0)
}

// Ctrl-Z at a CMD that has got the terminal in a script stops the script, too, so that the shell goes on.
func TestCtrlZStopsTheScriptAroundTheCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	c := inShell(t)
	c.types("bash -c '" + m.Bin + " exec " + m.Mountpoint + ` -- sh -c "echo began; while read key; do echo key \$key; done"; echo over'` + "\n")
	c.shows("began")
	c.types("k1\n")
	c.shows("key k1")
	c.types("\x1a")
	c.shows("Stopped")
	c.types("echo the shell has $((1+1)); fg\n")
	c.shows("the shell has 2")
	c.types("k2\n")
	c.shows("key k2")
	c.types("\x04")
	c.shows("over")
	c.leave()
}

// A script in the background whose command asks for the terminal stops as a whole, and goes on with fg.
func TestAScriptInTheBackgroundWaitsForTheTerminal(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	c := inShell(t)
	c.types("bash -c '" + m.Bin + " exec " + m.Mountpoint + ` -- sh -c "read key; echo key \$key"; echo over' &` + "\n")
	c.types("until jobs | grep Stopped; do sleep 0.1; done; echo stopped $((1+1)); fg\n")
	c.shows("stopped 2")
	c.types("k\n")
	c.shows("key k")
	c.shows("over")
	c.leave()
}

// Ctrl-C ends the loop or the script around a command, as it does without jvsfs, after the lease was given back.
func TestCtrlCEndsTheLoopAroundTheCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	loop := "for i in 1 2; do echo round $i; " + m.Bin + ` exec ` + m.Mountpoint + ` -- sh -c "echo began; exec sleep 100"; done; echo more`
	for where, line := range map[string]string{"a loop": loop, "a script": "bash -c '" + loop + "'"} {
		t.Run(where, func(t *testing.T) {
			c := inShell(t)
			c.types(tellsStatus + line + "\n")
			c.shows("began")
			c.types("\x03")
			c.shows("status 130")
			require.NotContains(t, c.text(), "round 2")
			_, r := m.HeadClaim("")
			require.True(t, r.Released)
			c.leave()
		})
	}
}

// So does Ctrl-C where only jvsfs waits: for the lease, or for what the command has left; and at a command that has got the terminal for itself.
func TestCtrlCEndsTheLoopAroundAWait(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	exec := m.Bin + " exec "
	for where, step := range map[string]struct{ command, key, shown string }{
		"for the lease, alone": {m.Bin + " lock acquire --wait 10m " + m.Mountpoint, "", "waiting"},
		"for the lease":        {exec + "--wait 10m " + m.Mountpoint + " -- true", "", "waiting"},
		"for what is left":     {exec + "--linger " + m.Mountpoint + ` -- sh -c "sleep 1000 &"`, "", "the lease is held until"},
		"for a key, by a CMD":  {exec + m.Mountpoint + ` -- sh -c "read key; echo key \$key; read more"`, "k\n", "key k"},
	} {
		t.Run(where, func(t *testing.T) {
			held := strings.HasPrefix(where, "for the lease")
			other := harness.StartActor(t, "other")
			if held {
				m.MustCLI("lock", "acquire", "--pid", harness.PIDOf(other), m.Mountpoint)
			}
			c := inShell(t)
			c.types(tellsStatus + "bash -c 'for i in 1 2; do echo round $i; " + step.command + "; done; echo the rest'\n")
			c.shows("round 1")
			c.types(step.key)
			c.shows(step.shown)
			c.types("\x03")
			c.shows("status 130")
			require.NotContains(t, c.text(), "round 2")
			require.NotContains(t, c.text(), "the rest")
			_, r := m.HeadClaim("")
			require.Equal(t, held, !r.Released)
			c.leave()
			other.Stop()
		})
	}
}

// And a snapshot that waits for a write in the disk.
func TestCtrlCEndsTheLoopAroundASnapshotThatWaits(t *testing.T) {
	m, disk := harness.NewFreezable(t, harness.MountOptions{OnFree: "deny"})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	c := inShell(t)
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})
	c.types(tellsStatus + "bash -c 'for i in 1 2; do echo round $i; " + m.Bin + " quiesce --wait 10m " + m.Mountpoint + " -- true; done; echo the rest'\n")
	c.shows("writes in flight")
	c.types("\x03")
	c.shows("status 130")
	require.NotContains(t, c.text(), "round 2")
	require.NotContains(t, c.text(), "the rest")
	disk.Thaw()
	require.Empty(t, (<-written).Errno)
	c.leave()
}
