package rules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
	"github.com/jvsfs/jvsfs/integration/rules/systems"
)

// The operations of the systems are what an actor can be told to do. Path is the directory, Name which instance, Data
// the content, Off how far its clock is off, Len its patience. To is "POINT=FIFO": there it waits.
func init() {
	for name, does := range systems.Operations {
		operation.Add(name, func(s *operation.Box, c operation.Command) error {
			answer, err := does(systems.Call{
				Dir: c.Path, What: c.Name, Data: string(c.Data), Clock: time.Duration(c.Off), Patience: time.Duration(c.Len),
				At: func(point string) { waitAt(point, c.To) },
			})
			s.Data = []byte(answer)
			return err
		})
	}
}

// waitAt waits until the story lets the process go on. To open a fifo is to say that one is there.
func waitAt(point, where string) {
	if at, fifo, _ := strings.Cut(where, "="); at == point {
		if _, err := os.ReadFile(fifo); err != nil {
			panic(err)
		}
	}
}

// scene is where a story plays: a plain directory, or a mount.
type scene struct {
	t    *testing.T
	root string // as the programs see it
	back string // the same, past the mount
	base string
	dir  string // the program's own, below the root
	what string // the instance that is its own: a repository, a garden, a worktree
	n    int
}

func (s *scene) file(name ...string) string {
	return filepath.Join(append([]string{s.root, s.dir}, name...)...)
}

// process is one of a program's, in a session of its own.
type process struct {
	*harness.Actor
	s *scene
}

func (s *scene) process(name string) *process {
	s.t.Helper()
	return &process{harness.StartActor(s.t, name), s}
}

// elsewhere is a process in a pid namespace of its own, as in another container.
func (s *scene) elsewhere(name string) *process {
	s.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	return &process{harness.ServeActor(s.t, name, cmd), s}
}

// call is one operation with its settings.
type call struct {
	op, what, data string
	clock          time.Duration
	patience       time.Duration
	at             string // where it is to stop
}

func (c call) command(s *scene, fifo string) harness.Command {
	return harness.Command{Op: c.op, Path: s.file(), Name: c.what, Data: []byte(c.data), Off: int64(c.clock), Len: int64(c.patience), To: c.at + "=" + fifo}
}

func word(r harness.Reply) string {
	if r.Errno != "" {
		return r.Errno
	}
	return string(r.Data)
}

// does runs an operation to its end: what the program says, or the error's name.
func (p *process) does(c call) string {
	p.T.Helper()
	return word(p.Do(c.command(p.s, "")))
}

// stopped is a process in the middle of an operation.
type stopped struct {
	*process
	end  <-chan harness.Reply
	gate int
}

// stops begins an operation, and waits until it is at its point.
func (p *process) stops(c call) *stopped {
	p.T.Helper()
	p.s.n++
	fifo := filepath.Join(p.s.base, fmt.Sprint("gate-", p.s.n))
	require.NoError(p.T, unix.Mkfifo(fifo, 0o600))
	st := &stopped{process: p, end: p.Begin(c.command(p.s, fifo)), gate: -1}
	harness.EventuallyNoted(p.T, p.Name+" is where "+c.at, func() (bool, string) {
		select {
		case r := <-st.end:
			p.T.Fatalf("%s is not stopped where %s: %s %s", p.Name, c.at, word(r), r.Note)
		default:
		}
		var err error
		st.gate, err = unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil, operation.ErrnoName(err)
	})
	p.T.Cleanup(st.open)
	return st
}

func (st *stopped) open() {
	if st.gate >= 0 {
		_ = unix.Close(st.gate) // nothing is written to it
		st.gate = -1
	}
}

// goesOn lets it go on to its end.
func (st *stopped) goesOn() string {
	st.T.Helper()
	st.open()
	return word(<-st.end)
}

// dies kills the process, wherever it is.
func (p *process) dies() {
	p.T.Helper()
	require.NoError(p.T, unix.Kill(p.PID(), unix.SIGKILL))
	_ = p.Cmd.Wait() // it was killed
}

// removes is rm by somebody who has nothing to do with the program.
func (s *scene) removes(name string) string {
	s.t.Helper()
	return word(s.process("rm").Do(harness.Command{Op: "unlink", Path: s.file(name)}))
}

// overwrites is a shell's > by such a one.
func (s *scene) overwrites(name, text string) string {
	s.t.Helper()
	return word(s.process("shell").Do(harness.Command{Op: "writefile", Path: s.file(name), Flags: unix.O_CREAT | unix.O_TRUNC, Mode: 0o644, Data: []byte(text)}))
}

// content is what a file has, read past the mount.
func (s *scene) content(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.back, s.dir, name))
	if err != nil {
		return operation.ErrnoName(err)
	}
	return string(text)
}

// stays says whether a file is still there when nothing else is to be expected: natively at once, with a rule after it
// has gone.
func (s *scene) stays(name string, ruled bool) string {
	s.t.Helper()
	there := func() bool {
		_, err := os.Lstat(filepath.Join(s.back, s.dir, name))
		return err == nil
	}
	if ruled {
		harness.Eventually(s.t, name+" is gone", func() bool { return !there() })
	}
	if there() {
		return "stays"
	}
	return "gone"
}

// told puts together what each was answered.
func told(what ...string) string { return strings.Join(what, "; ") }
