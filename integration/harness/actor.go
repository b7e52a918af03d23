package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// Command is what an actor is told.
type Command = operation.Command

// Reply is what it answers.
type Reply = operation.Reply

// Identity is who an actor is; the zero value is root without extra groups.
type Identity struct {
	UID, GID uint32
	Groups   []uint32
}

// Actor is a process of its own, in a session of its own, that performs
// operations and keeps descriptors and mappings between them: everything that
// can hold a lease, lose it and not know. Safe for concurrent use.
type Actor struct {
	Name string
	Cmd  *exec.Cmd
	T    testing.TB

	mu  sync.Mutex
	in  io.WriteCloser
	raw *os.File
	out *bufio.Reader
}

// StartActor starts root's actor; it ends with the test.
func StartActor(t testing.TB, name string) *Actor {
	t.Helper()
	return StartActorAs(t, name, Identity{})
}

// StartActorAs starts somebody else's actor.
func StartActorAs(t testing.TB, name string, id Identity) *Actor {
	t.Helper()
	// Through /proc/self/exe, because other uids cannot walk to the test
	// binary, which go test puts below a directory of mode 0700.
	cmd := exec.Command("/proc/self/exe")
	if id.UID != 0 || id.GID != 0 || id.Groups != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id.UID, Gid: id.GID, Groups: id.Groups}}
	}
	return ServeActor(t, name, cmd)
}

// ServeActor starts cmd, which runs the test binary, as an actor.
func ServeActor(t testing.TB, name string, cmd *exec.Cmd) *Actor {
	t.Helper()
	cmd.Env = append(os.Environ(), actorEnv+"="+name)
	cmd.Stderr = os.Stderr
	cmd.Dir = "/"
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	a := &Actor{Name: name, Cmd: cmd, T: t, in: in, raw: out.(*os.File), out: bufio.NewReader(out)}
	t.Cleanup(a.End)
	require.Empty(t, a.Do(Command{Op: "hello"}).Errno)
	return a
}

// PID is the actor's process.
func (a *Actor) PID() int { return a.Cmd.Process.Pid }

// Try sends one command and waits for its answer. An error means that the
// actor did not answer: it hangs in the kernel, is stopped, or died.
func (a *Actor) Try(c Command) (Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, err := json.Marshal(c)
	if err != nil {
		return Reply{}, err
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		return Reply{}, fmt.Errorf("actor %s: send %s: %w", a.Name, c.Op, err)
	}
	if err := a.raw.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return Reply{}, err
	}
	text, err := a.out.ReadBytes('\n')
	if err != nil {
		return Reply{}, fmt.Errorf("actor %s: no answer to %s %s %s: %w", a.Name, c.Op, c.Path, c.Name, err)
	}
	var r Reply
	if err := json.Unmarshal(text, &r); err != nil {
		return Reply{}, fmt.Errorf("actor %s: %q: %w", a.Name, text, err)
	}
	return r, nil
}

// Do is try for a test's own goroutine.
func (a *Actor) Do(c Command) Reply {
	a.T.Helper()
	r, err := a.Try(c)
	require.NoError(a.T, err)
	return r
}

// OK performs c, which must succeed.
func (a *Actor) OK(c Command) Reply {
	a.T.Helper()
	r := a.Do(c)
	require.Empty(a.T, r.Errno, "%s: %s %s: %s", a.Name, c.Op, c.Path, r.Note)
	return r
}

// Fails performs c, which must fail with one of the named errors.
func (a *Actor) Fails(c Command, errnos ...string) {
	a.T.Helper()
	r := a.Do(c)
	require.Contains(a.T, errnos, r.Errno, "%s: %s %s%s", a.Name, c.Op, c.Path, c.Handle)
}

// Stop suspends the whole process and waits until the kernel says so.
func (a *Actor) Stop() {
	a.T.Helper()
	require.NoError(a.T, unix.Kill(a.PID(), unix.SIGSTOP))
	Eventually(a.T, a.Name+" is stopped", func() bool { return ProcState(a.PID()) == "T" })
}

// Resume continues a stopped actor, and waits until the kernel shows it.
func (a *Actor) Resume() {
	a.T.Helper()
	require.NoError(a.T, unix.Kill(a.PID(), unix.SIGCONT))
}

// End lets the process finish by closing its input; a process that hangs is
// killed, and that is a failure. Idempotent.
func (a *Actor) End() {
	if a.Cmd.ProcessState != nil {
		return
	}
	_ = unix.Kill(a.PID(), unix.SIGCONT)
	_ = a.in.Close()
	gone := make(chan error, 1)
	go func() { gone <- a.Cmd.Wait() }()
	select {
	case err := <-gone:
		if err != nil {
			a.T.Errorf("actor %s ended with: %v", a.Name, err)
		}
	case <-time.After(Patience):
		_ = a.Cmd.Process.Kill()
		a.T.Errorf("actor %s had to be killed: %v", a.Name, <-gone)
	}
}

// ProcState is the state letter of /proc/PID/stat, "" when there is no such
// process.
func ProcState(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name may contain anything, ')' included: the last one counts.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// Run lets the actor run a line of shell in dir; how is "" or "setsid".
func (a *Actor) Run(dir, how, line string) (exit int64, out string) {
	a.T.Helper()
	r := a.OK(Command{Op: "run", Path: dir, Args: []string{"/bin/sh", "-c", line}, Name: how})
	return r.Vals[0], string(r.Data)
}

// actorUmask is the umask of every actor at its start: not the usual 022, so
// that a daemon that applies its own shows.
const actorUmask = 0o027

// actorMain is the whole life of an actor's process.
func actorMain(in io.Reader, out io.Writer) int {
	unix.Umask(actorUmask)
	if err := operation.Serve(in, out); err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		return 1
	}
	return 0
}

// Begin performs c without waiting for it. An actor that gives no answer has none.
func (a *Actor) Begin(c Command) <-chan Reply {
	done := make(chan Reply, 1)
	go func() {
		r, err := a.Try(c)
		if err != nil {
			r.Errno = err.Error()
		}
		done <- r
	}()
	return done
}
