package guardian

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// A killed daemon may not be able to die. If one of its threads was just telling the kernel to drop pages or
// names, that thread waits in the kernel for an answer that only the daemon could give. Meanwhile the process
// keeps /dev/fuse open, and all users of the mount wait for ever. The guardian is a process of its own that
// cuts the connection then. After that every call fails, as with any dead daemon.

// Descriptors of the guardian: the pipe on which its daemon says that it ends in peace, and the connection's
// abort file.
const (
	wordFD  = 3
	abortFD = 4
	readyFD = 5 // where it says that it listens
)

// daemonEnded must not be a signal that stops a service. The guardian gets those too, and must not cut off a
// daemon that still writes back and releases.
const daemonEnded = syscall.SIGUSR2

// Guard waits for the word of its daemon, or for its end. The kernel signals the end (prctl(2),
// PR_SET_PDEATHSIG) even while other threads of the daemon hang.
func Guard() error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, daemonEnded)
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE) // they end the daemon in peace
	word, abort := os.NewFile(wordFD, "word"), os.NewFile(abortFD, "abort")
	if err := os.NewFile(readyFD, "ready").Close(); err != nil {
		return err
	}
	said := make(chan bool, 1)
	go func() {
		n, _ := word.Read(make([]byte, 1)) // ends with the process, if not before
		said <- n == 1
	}()
	select {
	case well := <-said:
		if well {
			return nil
		}
	case <-ended:
	}
	_, err := abort.Write([]byte("1"))
	if errors.Is(err, syscall.ENOTCONN) || errors.Is(err, syscall.ENODEV) {
		return nil // it had ended already
	}
	return err
}

// Run starts the guardian and keeps it until ctx ends. It closes up when the guardian listens, or will
// not: a mount that is visible earlier would have no guardian for a moment. The kernel signals the guardian
// when the thread that started it ends, so that thread does nothing else.
func Run(ctx context.Context, abort *os.File, log *zap.Logger, up chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer host.CloseFile(abort)
	word, err := start(abort)
	close(up)
	if err != nil {
		log.Warn("no guardian: should this daemon be killed at an unlucky moment, the mount must be aborted by hand", zap.Error(err))
		return
	}
	<-ctx.Done()
	if err := word.end(); err != nil {
		log.Warn("guardian", zap.Error(err))
	}
}

// running is the daemon's side of its guardian.
type running struct {
	cmd  *exec.Cmd
	word io.WriteCloser
}

func start(abort *os.File) (*running, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer host.CloseFile(r)
	ready, listens, err := os.Pipe()
	if err != nil {
		host.CloseFile(w)
		return nil, err
	}
	defer host.CloseFile(ready)
	fenceagent.KeepDescriptors() // a daemon in the foreground has those of who started it
	cmd := exec.Command("/proc/self/exe", api.GuardianName)
	cmd.Args[0] = os.Args[0]
	cmd.ExtraFiles = []*os.File{r, abort, listens}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: daemonEnded, Setpgid: true}
	err = cmd.Start()
	host.CloseFile(listens)
	if err != nil {
		host.CloseFile(w)
		return nil, err
	}
	_, _ = ready.Read(make([]byte, 1)) // ends when it listens, or has ended
	return &running{cmd, w}, nil
}

// end dismisses the guardian.
func (g *running) end() error {
	_, err := g.word.Write([]byte{1})
	return errors.Join(err, g.word.Close(), g.cmd.Wait())
}
