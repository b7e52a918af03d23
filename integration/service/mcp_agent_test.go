package service

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// An actor that starts jvsfs mcp is an agent: the SDK's client runs in it, and the server is its child.
func init() {
	operation.Add("mcp-start", opMCPStart)
	operation.Add("mcp-call", opMCPCall)
	operation.Add("mcp-tools", opMCPTools)
	operation.Add("mcp-signal", func(_ *operation.Box, c operation.Command) error {
		return agentServer.Process.Signal(unix.Signal(c.Flags))
	})
	operation.Add("mcp-end", opMCPEnd)
}

// The server of this actor.
var (
	agentServer  *exec.Cmd
	agentSession *sdk.ClientSession
)

// opMCPStart starts the command line To in Path, as a harness would.
func opMCPStart(_ *operation.Box, c operation.Command) error {
	words := strings.Fields(c.To)
	agentServer = exec.Command(words[0], words[1:]...)
	agentServer.Dir, agentServer.Stderr = c.Path, os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, nil)
	var err error
	agentSession, err = client.Connect(context.Background(), &sdk.CommandTransport{Command: agentServer, TerminateDuration: harness.Patience}, nil)
	return err
}

// opMCPCall calls the tool Name; Len is after how many milliseconds it is cancelled. Flags 1 does not wait for
// the answer.
func opMCPCall(s *operation.Box, c operation.Command) error {
	if c.Flags == 1 {
		go func(session *sdk.ClientSession) { // ends with the session
			_, _ = session.CallTool(context.Background(), &sdk.CallToolParams{Name: c.Name, Arguments: json.RawMessage(c.Data)})
		}(agentSession)
		return nil
	}
	ctx := context.Background()
	if c.Len > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.Len)*time.Millisecond)
		defer cancel()
	}
	res, err := agentSession.CallTool(ctx, &sdk.CallToolParams{Name: c.Name, Arguments: json.RawMessage(c.Data)})
	if err != nil {
		return err
	}
	s.Data, err = json.Marshal(res)
	return err
}

func opMCPTools(s *operation.Box, _ operation.Command) error {
	res, err := agentSession.ListTools(context.Background(), nil)
	if err != nil {
		return err
	}
	s.Data, err = json.Marshal(res.Tools)
	return err
}

// opMCPEnd closes the server's input and says with what it ended.
func opMCPEnd(s *operation.Box, _ operation.Command) error {
	if agentSession == nil {
		return nil
	}
	err := agentSession.Close()
	agentSession = nil
	s.Vals = []int64{int64(agentServer.ProcessState.ExitCode())}
	return err
}

// said is what a tool answered.
type said struct {
	IsError bool
	Content []struct{ Text string }
	Data    struct {
		harness.Explanation
		Worktree string `json:"worktree_id"`
		Token    uint64 `json:"fencing_token"`
		Already  bool   `json:"already_held"`
		Released bool
		Mounts   []struct{ Mountpoint, State string }
		Error    struct{ Class, Message, Next string }
	} `json:"structuredContent"`
}

func (s said) text() string {
	var all []string
	for _, c := range s.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// agentOf starts an agent with a server; extra are options of the server.
func agentOf(t *testing.T, name string, m *harness.Mount, extra ...string) *harness.Actor {
	t.Helper()
	return serve(t, harness.StartActor(t, name), m, extra...)
}

// serve makes an actor an agent.
func serve(t *testing.T, a *harness.Actor, m *harness.Mount, extra ...string) *harness.Actor {
	t.Helper()
	a.OK(harness.Command{Op: "mcp-start", Path: "/", To: strings.Join(append([]string{m.Bin, "mcp"}, extra...), " ")})
	t.Cleanup(func() { a.OK(harness.Command{Op: "mcp-end"}) })
	return a
}

// args are the arguments of a call.
type args map[string]any

func toolCall(t testing.TB, tool string, of args) harness.Command {
	t.Helper()
	data, err := json.Marshal(of)
	require.NoError(t, err)
	return harness.Command{Op: "mcp-call", Name: tool, Data: data}
}

func answered(t testing.TB, r harness.Reply) (s said) {
	t.Helper()
	require.Empty(t, r.Errno, r.Note)
	require.NoError(t, json.Unmarshal(r.Data, &s), "%s", r.Data)
	return s
}

// asks calls a tool, whatever it answers.
func asks(a *harness.Actor, tool string, of args) said {
	a.T.Helper()
	return answered(a.T, a.Do(toolCall(a.T, tool, of)))
}

// gets calls a tool that must do what it is asked.
func gets(a *harness.Actor, tool string, of args) said {
	a.T.Helper()
	s := asks(a, tool, of)
	require.False(a.T, s.IsError, s.text())
	return s
}

// refusedBy calls a tool that must fail with a class, a sentence and a next step, for the model and for programs.
func refusedBy(a *harness.Actor, class, tool string, of args) said {
	a.T.Helper()
	s := asks(a, tool, of)
	require.True(a.T, s.IsError, "%s %v: %s", tool, of, s.text())
	require.Equal(a.T, class, s.Data.Error.Class, s.text())
	require.NotEmpty(a.T, s.Data.Error.Message)
	require.NotEmpty(a.T, s.Data.Error.Next)
	for _, part := range []string{class, "\nnext: " + s.Data.Error.Next} {
		require.Contains(a.T, s.text(), part, fmt.Sprint(tool, of))
	}
	return s
}
