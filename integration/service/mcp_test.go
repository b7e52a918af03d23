package service

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// requireFree waits until nobody holds the lease.
func requireFree(t *testing.T, m *harness.Mount) {
	t.Helper()
	harness.Eventually(t, "the lease is given back", func() bool { return m.WorktreeStatus("source").State == "free" })
}

// An agent asks, takes the lease, writes, gives it to another one, and gets refused then, as it is told.
func TestAnAgentAcquiresWritesAndHandsOverAsItIsTold(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := agentOf(t, "a", m), agentOf(t, "b", m)
	here := args{"path": m.At("f")}

	s := gets(a, "status", args{})
	require.Equal(t, m.Mountpoint, s.Data.Mounts[0].Mountpoint)
	require.Contains(t, s.text(), m.Mountpoint+": serving")
	s = gets(a, "explain", here)
	require.False(t, s.Data.Allowed)
	require.Equal(t, "E_LOCK_NOT_HELD", s.Data.Class)
	a.Fails(m.Put("f"), "EROFS")

	s = gets(a, "acquire", args{"path": m.At("f"), "purpose": "the story"})
	require.EqualValues(t, 1, s.Data.Token)
	require.Contains(t, s.text(), fmt.Sprintf(":%d:", a.PID()))
	a.OK(m.Put("f"))
	for _, how := range []string{"", "setsid"} {
		exit, out := a.Run("/", how, "echo x >"+m.At("by a child"))
		require.Zero(t, exit, out)
	}
	require.True(t, gets(a, "acquire", here).Data.Already, "once more changes nothing")
	require.Contains(t, gets(a, "status", here).text(), "for the story (that is you)")

	b.Fails(m.Put("f"), "EROFS")
	s = gets(b, "explain", here)
	require.False(t, s.Data.Allowed)
	require.Equal(t, "E_LOCK_CONFLICT", s.Data.Class)
	require.Contains(t, s.text(), "for the story")
	require.Contains(t, refusedBy(b, "E_LOCK_CONFLICT", "acquire", here).text(), fmt.Sprintf(":%d:", a.PID()))
	refusedBy(b, "E_LOCK_NOT_HELD", "release", here)
	refusedBy(b, "E_LOCK_NOT_HELD", "handover", args{"path": m.At("f"), "to_pid": b.PID()})
	s = gets(b, "wait", args{"path": m.At("f"), "wait_seconds": 0.1})
	require.False(t, s.Data.Allowed)

	s = gets(a, "handover", args{"path": m.At("f"), "to_pid": b.PID()})
	require.EqualValues(t, 2, s.Data.Token)
	b.OK(m.Put("f"))
	a.Fails(m.Put("f"), "EROFS")
	require.True(t, gets(b, "wait", here).Data.Allowed)
	require.True(t, gets(b, "release", here).Data.Released)
	b.Fails(m.Put("f"), "EROFS")
	require.Equal(t, "E_LOCK_NOT_HELD", gets(b, "wait", here).Data.Class, "what is free is not waited for")
	requireFree(t, m)
}

// Who waits gets the lease in its turn; who is told to wait longer than it wants can be stopped.
func TestAgentsThatWaitGetTheLeaseInTurn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a, b, c := agentOf(t, "a", m), agentOf(t, "b", m), agentOf(t, "c", m)
	here, patiently := args{"path": m.At("f")}, args{"path": m.At("f"), "wait_seconds": 600}
	gets(a, "acquire", here)
	next := b.Begin(toolCall(t, "acquire", patiently))
	free := c.Begin(toolCall(t, "wait", patiently))
	gets(a, "release", here)
	s := answered(t, <-next)
	require.False(t, s.IsError, s.text())
	b.OK(m.Put("f"))

	cancelled := toolCall(t, "acquire", patiently)
	cancelled.Len = 50
	require.NotEmpty(t, a.Do(cancelled).Errno)
	gets(b, "release", here)
	require.True(t, answered(t, <-free).Data.Allowed)
	requireFree(t, m)
	a.OK(harness.Command{Op: "mcp-end"})
	c.OK(m.Put("f"))
}

// The end of a server gives back what it took, while the agent lives; whatever the end is, and whatever is
// being waited for.
func TestAnMCPServerGivesItsLeasesBackAtItsEnd(t *testing.T) {
	for name, end := range map[string]func(a *harness.Actor){
		"its input ends": func(*harness.Actor) {},
		"TERM":           func(a *harness.Actor) { a.OK(harness.Command{Op: "mcp-signal", Flags: int(unix.SIGTERM)}) },
		"INT":            func(a *harness.Actor) { a.OK(harness.Command{Op: "mcp-signal", Flags: int(unix.SIGINT)}) },
	} {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Repository: true})
			a, other := agentOf(t, "a", m), harness.StartActor(t, "other")
			m.Acquire(other, "worktrees", "b")
			gets(a, "acquire", args{"path": m.At("main")})
			gets(a, "acquire", args{"path": m.At("worktrees", "a")})
			a.OK(m.Put("main", "f"))
			if name != "its input ends" { // the SDK's client closes that when its calls are answered
				waiting := toolCall(t, "acquire", args{"path": m.At("worktrees", "b"), "wait_seconds": 600})
				waiting.Flags = 1
				a.OK(waiting)
			}
			end(a)
			r := a.OK(harness.Command{Op: "mcp-end"})
			require.Equal(t, []int64{0}, r.Vals, "the server's exit code")
			require.Equal(t, "free", m.WorktreeStatus("main").State)
			require.Equal(t, "free", m.WorktreeStatus("a").State)
			require.Equal(t, "held", m.WorktreeStatus("b").State, "what it did not take stays")
			a.Fails(m.Put("main", "f"), "EROFS")
		})
	}
}

// A server gives back what it took though the mount has another daemon by then.
func TestAnMCPServerGivesItsLeaseBackToTheNextDaemon(t *testing.T) {
	replace := func(m *harness.Mount) { m.MustCLI(replacement(m)...) }
	for name, c := range map[string]struct {
		happens func(m *harness.Mount)
		again   bool // the lease is released and taken once more in between
	}{
		"replaced":                 {replace, false},
		"replaced, taken again":    {replace, true},
		"recovered":                {recovered, false},
		"recovered, taken again":   {recovered, true},
		"replaced, a copy is kept": {func(m *harness.Mount) { copyOf(m); replace(m) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
			a, here := agentOf(t, "a", m), args{"path": m.At("f")}
			gets(a, "acquire", here)
			c.happens(m)
			if c.again {
				require.True(t, gets(a, "release", here).Data.Released)
				gets(a, "acquire", here)
			}
			a.OK(m.Put("f"))
			r := a.OK(harness.Command{Op: "mcp-end"})
			require.Equal(t, []int64{0}, r.Vals, "the server's exit code")
			require.Equal(t, "free", m.WorktreeStatus("source").State)
			a.Fails(m.Put("f"), "EROFS")
		})
	}
}

// What an unmount has ended is no failure of the server.
func TestAnMCPServerDoesNotFailAfterAnUnmount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := agentOf(t, "a", m)
	gets(a, "acquire", args{"path": m.At("f")})
	m.Unmount()
	r := a.OK(harness.Command{Op: "mcp-end"})
	require.Equal(t, []int64{0}, r.Vals, "the server's exit code")
}

func recovered(m *harness.Mount) {
	m.KillDaemon()
	m.Recover()
}

// replacement is the command line that mounts once more what is mounted.
func replacement(m *harness.Mount) []string {
	return []string{"mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--replace"}
}

// copyOf binds a mount to another place, where it stays with the daemon that it has now.
func copyOf(m *harness.Mount) {
	at := filepath.Join(m.Base, "copy")
	require.NoError(m.T, os.Mkdir(at, 0o755))
	require.NoError(m.T, unix.Mount(m.Mountpoint, at, "", unix.MS_BIND, ""))
	m.T.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// A server whose agent has gone waits for nothing any more.
func TestAnMCPServerThatWaitsEndsWithItsAgent(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	other := harness.StartActor(t, "other")
	m.Acquire(other)
	out, err := runServer(t, m, rawCall(t, 2, "acquire", args{"path": m.At("f"), "wait_seconds": 6000}))
	require.NoError(t, err, "%s", out)
	require.Equal(t, "held", m.WorktreeStatus("source").State)
	other.OK(m.Put("f"))
}

// rawCall is a line that calls a tool.
func rawCall(t *testing.T, id int, tool string, of args) string {
	t.Helper()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": args{"name": tool, "arguments": of}})
	require.NoError(t, err)
	return string(call)
}

// runServer runs a server whose input ends after some lines.
func runServer(t *testing.T, m *harness.Mount, lines ...string) (out []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	server := exec.CommandContext(ctx, m.Bin, "mcp")
	server.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
` + strings.Join(lines, "\n") + "\n")
	return server.CombinedOutput()
}

// A line that is no message does not end the server, and the end of the input takes no answer away.
func TestAnMCPServerGoesOnAfterABadLine(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	out, err := runServer(t, m, rawCall(t, 2, "acquire", args{"path": m.At("f")}), "oops", "{}", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`,
		rawCall(t, 3, "status", args{"path": m.At("f")}))
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "acquired the lease of source")
	require.Contains(t, string(out), m.Mountpoint+": serving")
	require.Contains(t, string(out), "-32700")
	require.Equal(t, 2, strings.Count(string(out), "-32600"), "%s", out)
	requireFree(t, m)
}

// A server gives back only what it took: the lease under which jvsfs exec runs the agent stays.
func TestAnMCPServerInsideExecLeavesItsLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	self, err := os.Executable()
	require.NoError(t, err)
	a := harness.ServeActor(t, "under exec", exec.Command(m.Bin, "exec", m.Mountpoint, "--", self))
	a.OK(harness.Command{Op: "mcp-start", Path: "/", To: m.Bin + " mcp"})
	s := gets(a, "acquire", args{"path": m.At("f")})
	require.True(t, s.Data.Already, s.text())
	s = gets(a, "release", args{"path": m.At("f")})
	require.False(t, s.Data.Released)
	require.Contains(t, s.text(), "jvsfs exec holds the lease until its command")
	a.OK(harness.Command{Op: "mcp-end"})
	a.OK(m.Put("f"))
}

// Bad calls are answers that a model can act on.
func TestABadToolCallIsAnsweredWithWhatToDo(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := agentOf(t, "a", m)
	path, outside := m.At("f"), m.Base
	for _, c := range []struct {
		class, tool string
		of          args
	}{
		{"E_USAGE", "acquire", args{"path": path, "force": true}},
		{"E_USAGE", "acquire", args{}},
		{"E_USAGE", "acquire", args{"path": 7}},
		{"E_USAGE", "acquire", args{"path": ""}},
		{"E_USAGE", "acquire", args{"path": path, "wait_seconds": -1}},
		{"E_USAGE", "acquire", args{"path": path, "wait_seconds": 1e9}},
		{"E_USAGE", "wait", args{"path": path, "wait_seconds": "soon"}},
		{"E_USAGE", "handover", args{"path": path}},
		{"E_USAGE", "handover", args{"path": path, "to_pid": 1, "to_host": "other"}},
		{"E_USAGE", "explain", args{"file": path}},
		{"E_NO_MOUNT", "acquire", args{"path": outside}},
		{"E_NO_MOUNT", "release", args{"path": outside}},
		{"E_NO_MOUNT", "wait", args{"path": outside}},
		{"E_NO_MOUNT", "status", args{"path": outside}},
		{"E_NO_MOUNT", "handover", args{"path": outside, "to_pid": a.PID()}},
		{"E_LOCK_NOT_HELD", "release", args{"path": path}},
		{"E_LOCK_NOT_HELD", "handover", args{"path": path, "to_pid": a.PID()}},
	} {
		refusedBy(a, c.class, c.tool, c.of)
	}
	s := gets(a, "explain", args{"path": outside})
	require.True(t, s.Data.Allowed)
	require.Contains(t, s.text(), "nothing fences writes there")
	require.NotEmpty(t, a.Do(toolCall(t, "no such tool", args{})).Errno, "an error of the protocol, as it says")

	tools := a.OK(harness.Command{Op: "mcp-tools"})
	for _, name := range []string{"status", "explain", "acquire", "release", "wait", "handover"} {
		require.Contains(t, string(tools.Data), `"name":"`+name+`"`)
	}
	m.KillDaemon()
	refusedBy(a, "E_NO_MOUNT", "acquire", args{"path": path})
	require.Contains(t, gets(a, "status", args{}).text(), "dead")
}

// --pid names another holder than the process that started the server, --scope a wider one.
func TestAnMCPServerAcquiresForTheProcessThatPidNames(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	editor := harness.StartActor(t, "editor")
	a := agentOf(t, "a", m, "--pid", harness.PIDOf(editor))
	gets(a, "acquire", args{"path": m.At("f")})
	editor.OK(m.Put("f"))
	a.Fails(m.Put("f"), "EROFS")
	gets(a, "release", args{"path": m.At("f")})
	gets(a, "acquire", args{"path": m.At("f")})
	a.OK(harness.Command{Op: "mcp-end"})
	requireFree(t, m)

	b := agentOf(t, "b", m, "--scope", "user")
	gets(b, "acquire", args{"path": m.At("f")})
	editor.OK(m.Put("f"))
	gets(b, "release", args{"path": m.At("f")})
	for _, line := range [][]string{{"mcp", "--pid", "-1"}, {"mcp", "--scope", "planet"}, {"mcp", "x"}} {
		_, errs, exit := m.CLI(line...)
		require.Equal(t, harness.ExitUsage, exit, errs)
	}
}

// Agents of a user need no root, and have no power over each other.
func TestAgentsOfAUserNeedNoRoot(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	user := harness.Identity{UID: 1000, GID: 1000}
	a, b := serve(t, harness.StartActorAs(t, "a", user), m), serve(t, harness.StartActorAs(t, "b", user), m)
	here := args{"path": m.Mountpoint}
	gets(a, "acquire", here)
	a.OK(m.Put("f"))
	require.NotContains(t, string(a.Do(toolCall(t, "acquire", here)).Data), "nonce")
	refusedBy(b, "E_LOCK_NOT_HELD", "release", here)
	gets(a, "release", here)
	gets(b, "acquire", here)
	b.OK(m.Put("f"))
	gets(b, "handover", args{"path": m.Mountpoint, "to_pid": a.PID()})
	a.OK(m.Put("f"))
	gets(a, "release", here)
	gets(a, "acquire", here)
	a.OK(harness.Command{Op: "mcp-end"})
	requireFree(t, m)
}

// The configurations that the manual prints start what they say.
func TestTheConfigurationsOfTheAgentsPageWork(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	blocks := jsonBlock.FindAllStringSubmatch(harness.ReadText(t, "../../cmd/jvsfs/pages/jvsfs-agents.7.md"), -1)
	require.Len(t, blocks, 2)
	var forMCP struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(blocks[0][1]), &forMCP))
	server := forMCP.MCPServers["jvsfs"]
	require.Equal(t, "jvsfs", server.Command)
	require.Equal(t, "mcp", server.Args[0])
	a := agentOf(t, "a", m, server.Args[1:]...)
	gets(a, "acquire", args{"path": m.At("f")})

	var forHook struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Type, Command string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(blocks[1][1]), &forHook))
	before := forHook.Hooks["PreToolUse"][0]
	require.Regexp(t, "^("+before.Matcher+")$", "Write")
	other := harness.StartActor(t, "other")
	exit, said := asAgent(m, a, "", before.Hooks[0].Command+event(m.At("f"), "/"))
	require.EqualValues(t, hookAllows, exit, said)
	exit, said = asAgent(m, other, "", before.Hooks[0].Command+event(m.At("f"), "/"))
	require.EqualValues(t, hookRefuses, exit, said)
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")
