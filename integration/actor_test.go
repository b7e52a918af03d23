package integration

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
)

// command is one line to an actor. Op names an entry of the actor's table;
// the other fields mean what the operation makes of them.
type command struct {
	Op     string `json:"op"`
	Path   string `json:"path,omitempty"`
	To     string `json:"to,omitempty"`
	Handle string `json:"handle,omitempty"`
	Flags  int    `json:"flags,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	Off    int64  `json:"off,omitempty"`
	Len    int64  `json:"len,omitempty"`
	UID    int    `json:"uid,omitempty"`
	GID    int    `json:"gid,omitempty"`
	Name   string `json:"name,omitempty"`
	Data   []byte `json:"data,omitempty"`
}

// reply is the answer. Errno is the symbolic name, "" for success.
type reply struct {
	Errno string  `json:"errno"`
	Vals  []int64 `json:"vals,omitempty"`
	Data  []byte  `json:"data,omitempty"`
	Note  string  `json:"note,omitempty"`
}

// identity is who an actor is; the zero value is root without extra groups.
type identity struct {
	uid, gid uint32
	groups   []uint32
}

// actor is a process of its own, in a session of its own, that performs
// operations and keeps descriptors and mappings between them: everything that
// can hold a lease, lose it and not know. Safe for concurrent use.
type actor struct {
	name string
	cmd  *exec.Cmd
	t    testing.TB

	mu  sync.Mutex
	in  io.WriteCloser
	raw *os.File
	out *bufio.Reader
}

// startActor starts root's actor; it ends with the test.
func startActor(t testing.TB, name string) *actor {
	t.Helper()
	return startActorAs(t, name, identity{})
}

func startActorAs(t testing.TB, name string, id identity) *actor {
	t.Helper()
	// Through /proc/self/exe, because other uids cannot walk to the test
	// binary, which go test puts below a directory of mode 0700.
	cmd := exec.Command("/proc/self/exe")
	if id.uid != 0 || id.gid != 0 || id.groups != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: id.groups}}
	}
	return serveActor(t, name, cmd)
}

// serveActor starts cmd, which runs the test binary, as an actor.
func serveActor(t testing.TB, name string, cmd *exec.Cmd) *actor {
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
	a := &actor{name: name, cmd: cmd, t: t, in: in, raw: out.(*os.File), out: bufio.NewReader(out)}
	t.Cleanup(a.end)
	require.Empty(t, a.do(command{Op: "hello"}).Errno)
	return a
}

func (a *actor) pid() int { return a.cmd.Process.Pid }

// try sends one command and waits for its answer. An error means that the
// actor did not answer: it hangs in the kernel, is stopped, or died.
func (a *actor) try(c command) (reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, err := json.Marshal(c)
	if err != nil {
		return reply{}, err
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		return reply{}, fmt.Errorf("actor %s: send %s: %w", a.name, c.Op, err)
	}
	if err := a.raw.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return reply{}, err
	}
	text, err := a.out.ReadBytes('\n')
	if err != nil {
		return reply{}, fmt.Errorf("actor %s: no answer to %s %s %s: %w", a.name, c.Op, c.Path, c.Name, err)
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil {
		return reply{}, fmt.Errorf("actor %s: %q: %w", a.name, text, err)
	}
	return r, nil
}

// do is try for a test's own goroutine.
func (a *actor) do(c command) reply {
	a.t.Helper()
	r, err := a.try(c)
	require.NoError(a.t, err)
	return r
}

// ok performs c, which must succeed.
func (a *actor) ok(c command) reply {
	a.t.Helper()
	r := a.do(c)
	require.Empty(a.t, r.Errno, "%s: %s %s: %s", a.name, c.Op, c.Path, r.Note)
	return r
}

// fails performs c, which must fail with one of the named errors.
func (a *actor) fails(c command, errnos ...string) {
	a.t.Helper()
	r := a.do(c)
	require.Contains(a.t, errnos, r.Errno, "%s: %s %s%s", a.name, c.Op, c.Path, c.Handle)
}

// stop suspends the whole process and waits until the kernel says so.
func (a *actor) stop() {
	a.t.Helper()
	require.NoError(a.t, unix.Kill(a.pid(), unix.SIGSTOP))
	eventually(a.t, a.name+" is stopped", func() bool { return procState(a.pid()) == "T" })
}

func (a *actor) resume() {
	a.t.Helper()
	require.NoError(a.t, unix.Kill(a.pid(), unix.SIGCONT))
}

// end lets the process finish by closing its input; a process that hangs is
// killed, and that is a failure. Idempotent.
func (a *actor) end() {
	if a.cmd.ProcessState != nil {
		return
	}
	_ = unix.Kill(a.pid(), unix.SIGCONT)
	_ = a.in.Close()
	gone := make(chan error, 1)
	go func() { gone <- a.cmd.Wait() }()
	select {
	case err := <-gone:
		if err != nil {
			a.t.Errorf("actor %s ended with: %v", a.name, err)
		}
	case <-time.After(patience):
		_ = a.cmd.Process.Kill()
		a.t.Errorf("actor %s had to be killed: %v", a.name, <-gone)
	}
}

// procState is the state letter of /proc/PID/stat, "" when there is no such
// process.
func procState(pid int) string {
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
