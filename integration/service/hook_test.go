package service

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The exit codes of a hook, as harnesses know them.
const (
	hookAllows  = 0
	hookFails   = 1 // and the edit goes on
	hookRefuses = 2
)

// hookDecision is what hook --json says (a part of it).
type hookDecision struct {
	Allowed bool
	Tool    string `json:"tool_name"`
	Paths   []harness.Explanation
}

// asAgent runs a line as the agent's harness would. $1 and the rest are the paths.
func asAgent(m *harness.Mount, a *harness.Actor, how, line string) (exit int64, said string) {
	m.T.Helper()
	return a.Run(m.Base, how, fmt.Sprintf("PATH=%s:$PATH\n%s", filepath.Dir(m.Bin), line))
}

// edit is the line that passes an event of Claude Code to the hook.
func edit(path, cwd string) string { return "jvsfs hook" + event(path, cwd) }

// event is that of an edit, as standard input.
func event(path, cwd string) string {
	text, _ := json.Marshal(map[string]any{
		"session_id": "s", "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Write",
		"tool_input": map[string]string{"file_path": path, "content": "it's text"},
	})
	return " <<'EVENT'\n" + string(text) + "\nEVENT\n"
}

// A hook lets through what the mount lets through, and refuses what the mount refuses.
func TestHookDecidesAsTheMountDoes(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	mine, other := harness.StartActor(t, "mine"), harness.StartActor(t, "other")
	m.Acquire(mine)

	for _, how := range []string{"", "setsid"} {
		exit, said := asAgent(m, mine, how, edit(m.At("f"), "/"))
		require.EqualValues(t, hookAllows, exit, said)
		require.Empty(t, said, "nothing that a harness could take for its own format")
	}
	mine.OK(m.Put("f"))

	exit, said := asAgent(m, other, "", edit("f", m.Mountpoint))
	require.EqualValues(t, hookRefuses, exit, said)
	for _, part := range []string{"E_LOCK_CONFLICT: a write to " + m.At("f") + " would be refused: ", fmt.Sprintf(":%d:", mine.PID()), "\nnext: "} {
		require.Contains(t, said, part)
	}
	other.Fails(m.Put("f"), "EROFS")
	require.EqualValues(t, 1, m.WorktreeStatus("source").Refusals, "a hook is not counted as a refusal")

	exit, said = asAgent(m, other, "", `echo '{"tool_name":"Read","tool_input":{"file_path":"`+m.At("f")+`"}}' | jvsfs hook`)
	require.EqualValues(t, hookAllows, exit, "who may not write can read: %s", said)
	command := `echo '{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"` + m.Mountpoint + `"}' | jvsfs hook`
	exit, said = asAgent(m, other, "", command)
	require.EqualValues(t, hookAllows, exit, said)
	exit, said = asAgent(m, other, "", command+" --commands")
	require.EqualValues(t, hookRefuses, exit, said)
}

// The session of a lease that was taken by writing is that of the agent. Its hooks run in sessions of their own.
func TestHookJudgesByTheAgentsSession(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a, other := harness.StartActor(t, "a"), harness.StartActor(t, "other")
	a.OK(m.Put("f"))
	exit, said := asAgent(m, a, "setsid", edit(m.At("f"), "/"))
	require.EqualValues(t, hookAllows, exit, said)
	exit, said = asAgent(m, other, "setsid", edit(m.At("f"), "/"))
	require.EqualValues(t, hookRefuses, exit, said)
}

// Many paths are one decision, and one sentence for each reason.
func TestHookDecidesOnceForManyPaths(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true})
	mine, other := harness.StartActor(t, "mine"), harness.StartActor(t, "other")
	m.Acquire(mine, "main")
	m.Acquire(other, "worktrees", "a")
	paths := ""
	for n := range 200 {
		paths += " " + m.At("main", fmt.Sprintf("f%d", n))
	}
	outside := filepath.Join(m.Base, "elsewhere")
	exit, said := asAgent(m, other, "", "jvsfs hook --json "+m.At("worktrees", "a", "f")+" "+outside+paths+" 2>said")
	require.EqualValues(t, hookRefuses, exit, said)
	var d hookDecision
	require.NoError(t, json.Unmarshal([]byte(said), &d), said)
	require.False(t, d.Allowed)
	require.Len(t, d.Paths, 201, "the one outside is not among them")
	require.True(t, d.Paths[0].Allowed)
	require.Equal(t, "E_LOCK_CONFLICT", d.Paths[1].Class)
	text, err := os.ReadFile(filepath.Join(m.Base, "said"))
	require.NoError(t, err)
	require.Contains(t, string(text), m.At("main", "f2")+" and 197 more would be refused: ")

	exit, said = asAgent(m, mine, "", "jvsfs hook --json"+paths)
	require.EqualValues(t, hookAllows, exit, said)
	require.NoError(t, json.Unmarshal([]byte(said), &d), said)
	require.True(t, d.Allowed)
	require.Len(t, d.Paths, 200)
}

// What is on no mount is nobody's business, and no mistake is a refusal.
func TestHookNeverRefusesByMistake(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{})
	a := harness.StartActor(t, "a")
	for line, exit := range map[string]int64{
		edit(filepath.Join(m.Base, "f"), "/"):                 hookAllows,
		edit("f", filepath.Join(m.Base, "no such directory")): hookAllows,
		edit(m.At("f"), "/"):                                  hookAllows,
		"jvsfs hook <event":                                   hookFails, // no such file: it is the shell that says so
		"jvsfs hook </dev/null":                               hookFails,
		"echo nonsense | jvsfs hook":                          hookFails,
		"echo '{}' | jvsfs hook":                              hookFails,
		"jvsfs hook --no-such-flag x":                         hookFails,
		"jvsfs hook --pid -1 x":                               hookFails,
		"jvsfs hook --pid x x":                                hookFails,
		"jvsfs hook --pid 4194304 " + m.At("f"):               hookFails,
	} {
		got, said := asAgent(m, a, "", line)
		if line == "jvsfs hook <event" {
			require.NotZero(t, got)
			continue
		}
		require.Equal(t, exit, got, "%s\n%s", line, said)
		if exit == hookAllows {
			require.Empty(t, said, line)
		} else {
			require.Contains(t, said, "next: ", line)
		}
	}
	daemon := m.Daemons()[0]
	require.NoError(t, unix.Kill(daemon, unix.SIGKILL))
	m.Dead = true
	exit, said := asAgent(m, a, "", edit(m.At("f"), "/"))
	require.EqualValues(t, hookFails, exit, said)
	require.Contains(t, said, "E_NO_MOUNT")
}
