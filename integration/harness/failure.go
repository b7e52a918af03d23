package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a failure shows at most, so that all of it is on one screen.
const (
	stateLines = 8
	eventLines = 12
	logLines   = 25
	leftLines  = 6
	lineWidth  = 180
)

// LookPatience bounds each look at a mount whose test failed: it may be dead, or hang.
var LookPatience = OnThisMachine(3 * time.Second)

// reported are the tests and cases whose failure has been told, and the names of the top-level tests of which one has been
// shown whole.
var reported sync.Map

// reportFailure shows once for each top-level test that failed: its name in words, the state and the last events of its
// mounts, the daemon's log, and how to repeat it alone. Of its further cases it tells the last alone. It is called before
// anything of the test is taken away.
func (m *Mount) reportFailure() {
	if !m.T.Failed() {
		return
	}
	if _, told := reported.LoadOrStore(m.T, true); told {
		return
	}
	if _, shown := reported.LoadOrStore(topLevel(m.T), true); shown {
		m.T.Logf("failed, too: %s\nagain: %s", InWords(m.T.Name()), Again(m.T.Name()))
		return
	}
	log, err := os.ReadFile(m.LogFile()) // before the looks, of which the daemon says something, too
	if err != nil {
		log = []byte("(none: " + err.Error() + ")")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "==== failed: %s (T is %s)\n", InWords(m.T.Name()), m.Base)
	m.section(&b, "state", m.look("jvsfs status", func(ctx context.Context) string { return m.said(ctx, "status") }), stateLines)
	m.section(&b, "last events", m.events(), eventLines)
	title := "daemon's log"
	if strings.Count(string(log), "\n") > logLines || m.hasWideLine(string(log)) {
		title += ", whole in " + keep(m.T, "daemon.log", log)
	}
	m.section(&b, title, string(log), logLines)
	fmt.Fprintf(&b, "---- again: %s\n====", Again(m.T.Name()))
	m.T.Log(b.String())
}

// withMount are the names of the top-level tests that have had a mount of this package: it tells of their failures.
var withMount sync.Map

// remind tells of the failure of a test without such a mount only its name in words, and how to repeat it.
func remind(t testing.TB) {
	if _, told := withMount.Load(topLevel(t)); told || !t.Failed() {
		return
	}
	if _, told := reported.LoadOrStore(topLevel(t), true); !told {
		t.Logf("==== failed: %s\n---- again: %s\n====", InWords(t.Name()), Again(t.Name()))
	}
}

// reportLeft shows what stays after a test that failed.
func (m *Mount) reportLeft() {
	if !m.T.Failed() {
		return
	}
	m.reportFailure() // the end alone may have failed
	var left []string
	for _, pid := range ProcessesOf(m.Bin) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended by now
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
		left = append(left, fmt.Sprintf("process %d (%s): %s", pid, state, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	points, err := MountsBelow(Scratch)
	for _, point := range points {
		if strings.Contains(point, "fuse") {
			left = append(left, "mount "+point)
		}
	}
	if err != nil {
		left = append(left, err.Error())
	}
	if len(left) == 0 {
		return
	}
	var b strings.Builder
	m.section(&b, "stays", strings.Join(left, "\n"), leftLines)
	m.T.Log(strings.TrimSuffix(b.String(), "\n"))
}

// section is the end of a text below its title, with no line wider than a screen. The test's directory is T in it.
func (m *Mount) section(b *strings.Builder, title, text string, most int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - most; left > 0 {
		title += fmt.Sprintf(" (%d lines before these)", left)
		lines = lines[left:]
	}
	fmt.Fprintf(b, "---- %s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", m.narrow(line))
	}
}

func (m *Mount) hasWideLine(text string) bool {
	for line := range strings.Lines(text) {
		if len([]rune(strings.ReplaceAll(line, m.Base, "T"))) > lineWidth {
			return true
		}
	}
	return false
}

// narrow leaves out the middle of a line that is too wide.
func (m *Mount) narrow(line string) string {
	letters := []rune(strings.ReplaceAll(line, m.Base, "T"))
	if len(letters) <= lineWidth {
		return string(letters)
	}
	half := lineWidth/2 - 2
	return string(letters[:half]) + " .. " + string(letters[len(letters)-half:])
}

// look bounds in time what may hang: not only the commands, but also the kernel, when one of them cannot even be killed.
func (m *Mount) look(what string, look func(context.Context) string) string {
	ctx, cancel := context.WithTimeout(context.Background(), LookPatience)
	defer cancel()
	seen := make(chan string, 1)
	go func() { seen <- look(ctx) }()
	select {
	case text := <-seen:
		return text
	case <-time.After(2 * LookPatience):
		return fmt.Sprintf("(%s: no end within %s)", what, 2*LookPatience)
	}
}

// said is what a command of jvsfs prints until the context ends.
func (m *Mount) said(ctx context.Context, args ...string) string {
	out := new(bytes.Buffer)
	if err := m.print(ctx, out, args...); err != nil {
		fmt.Fprintf(out, "(jvsfs %s: %v)\n", strings.Join(args, " "), err)
	}
	return out.String()
}

func (m *Mount) print(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, m.Bin, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.WaitDelay = out, out, "/", LookPatience/4
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) }
	return cmd.Run()
}

// untilQuiet gathers what a command prints, and calls it off when no more has come for a while.
type untilQuiet struct {
	text bytes.Buffer // embedded, its ReadFrom would go around Write
	off  *time.Timer
}

func (u *untilQuiet) Write(p []byte) (int, error) {
	u.off.Reset(time.Second)
	return u.text.Write(p)
}

// watched is what jvsfs watch tells of the past. It goes on with the future, and does not say where that begins.
func (m *Mount) watched(ctx context.Context) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &untilQuiet{off: time.AfterFunc(2*LookPatience, cancel)} // the context ends before
	defer out.off.Stop()
	_ = m.print(ctx, out, "watch", "--since", "0") // it was called off
	return out.text.String()
}

// events are those that the daemons of all mounts remember. A dead daemon tells nothing; then they are those of the audit
// chains, which are files.
func (m *Mount) events() string {
	told := m.look("jvsfs watch", m.watched)
	for line := range strings.Lines(told) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] != "silent" {
			return told
		}
	}
	return told + "(no daemon tells any; the audit chain:)\n" + m.look("the audit chain", m.auditFiles)
}

// auditFiles is the end of each audit chain, which is there without a daemon.
func (m *Mount) auditFiles(context.Context) string {
	var last []string
	for _, pattern := range []string{m.LockDir + "/*audit.jsonl", filepath.Dir(m.LockDir) + "/audit/audit.jsonl"} {
		files, _ := filepath.Glob(pattern) // the pattern is well-formed
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				text = []byte(err.Error())
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			last = append(last, lines[max(0, len(lines)-eventLines):]...)
		}
	}
	return strings.Join(last, "\n")
}
