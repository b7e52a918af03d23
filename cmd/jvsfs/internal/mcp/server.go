package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// Config says for whom a server speaks.
type Config struct {
	Agent   int      // the process that holds what is acquired
	Pinned  *os.File // its pidfd
	Named   bool     // it was named, and need not be above this process
	Scope   string   // who counts as the holder, "" as configured
	Version string
}

// server answers one agent.
type server struct {
	cfg   Config
	taken taken
	over  context.Context // ends with the agent's side of the connection
	late  context.Context // ends after that, when nothing more is answered
}

// instructions are what the agent's model reads beside the descriptions of the tools.
const instructions = `jvsfs is a file system on which one writer at a time holds the lease of a directory tree (a worktree). ` +
	`Writes of all others fail with "Read-only file system" (EROFS). Before you edit files of a worktree, call acquire with a path in it. ` +
	`If another holder has it, work elsewhere, or call acquire with wait_seconds. Call release when you are done. ` +
	`A lease that you acquire here is held by the agent's process and all that it starts, its shells included. ` +
	`Where an answer advises "jvsfs lock acquire", call the tool acquire instead.`

// answerPatience is how long calls that wait for nobody may take after the end of the input. `printf ... | jvsfs mcp` ends the input at once.
const answerPatience = 5 * time.Second

// Serve answers until in ends or ctx does. Then it gives back the leases that it took.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	over, end := context.WithCancel(ctx)
	defer end()
	late, tooLate := context.WithCancel(ctx)
	defer tooLate()
	s := &server{cfg: cfg, over: over, late: late}
	srv := sdk.NewServer(&sdk.Implementation{Name: "jvsfs", Title: "jvsfs leases", Version: cfg.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	srv.AddReceivingMiddleware(explainMistakes)
	s.addTools(srv)
	ended := func() {
		end()
		time.AfterFunc(answerPatience, tooLate)
	}
	err := srv.Run(ctx, transport{in: endNotice{in, ended}, out: out, late: late.Done()})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		err = nil // a signal is an end like that of the input
	}
	return errors.Join(err, s.releaseAll())
}

// endNotice tells the end of the input at once. Calls that wait for a lease would keep the server from its end.
type endNotice struct {
	io.ReadCloser
	end func()
}

// Read is that of the input.
func (r endNotice) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil {
		r.end()
	}
	return n, err
}

// agent is the process about which a question is, or which is to hold.
func (s *server) agent() api.Process { return api.Process{PID: s.cfg.Agent, Explicit: s.cfg.Named} }

// asHolder names the holder in a request about its lease. If none was named, the daemon sees that this process
// belongs to it.
func (s *server) asHolder() (api.Process, *os.File) {
	if !s.cfg.Named {
		return api.Process{}, nil
	}
	return s.agent(), s.cfg.Pinned
}
