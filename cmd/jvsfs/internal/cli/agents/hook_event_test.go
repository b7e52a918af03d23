package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// What the events of harnesses say that a tool writes to.
func TestPathsAreFoundInTheEventsOfHarnesses(t *testing.T) {
	for name, c := range map[string]struct {
		event    string
		commands bool
		paths    []string
	}{
		"a write":            {`{"tool_name":"Write","tool_input":{"file_path":"/srv/f","content":"file_path"},"cwd":"/srv"}`, false, []string{"/srv/f"}},
		"a notebook":         {`{"tool_name":"NotebookEdit","tool_input":{"notebook_path":"/srv/n.ipynb"}}`, false, []string{"/srv/n.ipynb"}},
		"a relative path":    {`{"tool_name":"replace","tool_input":{"file_path":"a/../f"},"cwd":"/srv"}`, false, []string{"/srv/f"}},
		"many edits":         {`{"tool_name":"MultiEdit","tool_input":{"edits":[{"file_path":"/a"},{"file_path":"/b","new_string":"x"}]}}`, false, []string{"/a", "/b"}},
		"a list of paths":    {`{"tool_name":"write_files","tool_input":{"paths":["/a","/b",7,""]}}`, false, []string{"/a", "/b"}},
		"an unknown tool":    {`{"tool_name":"mcp__x__save","tool_input":{"path":"/a"}}`, false, []string{"/a"}},
		"a reader":           {`{"tool_name":"Read","tool_input":{"file_path":"/srv/f"}}`, true, nil},
		"a search":           {`{"tool_name":"Grep","tool_input":{"path":"/srv","pattern":"x"}}`, true, nil},
		"a command":          {`{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/srv"}`, false, nil},
		"a command, asked":   {`{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/srv"}`, true, []string{"/srv"}},
		"a command as words": {`{"tool_name":"shell","tool_input":{"command":["make","all"]},"cwd":"/srv"}`, true, []string{"/srv"}},
		"a patch": {`{"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-*** x\n*** Add File: /h\n*** End Patch"},"cwd":"/srv"}`,
			false, []string{"/h", "/srv/f", "/srv/g"}},
		"no input":       {`{"tool_name":"Task"}`, true, nil},
		"no object":      {`{"tool_name":"Task","tool_input":"/srv/f"}`, true, nil},
		"a path of none": {`{"tool_name":"Write","tool_input":{"file_path":null}}`, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ev, err := readHookEvent(strings.NewReader(c.event))
			require.NoError(t, err)
			require.ElementsMatch(t, c.paths, slices.Clone(ev.paths(c.commands)))
		})
	}
}

func TestABadHookEventIsNoRefusal(t *testing.T) {
	for _, text := range []string{"", " \n", "{", "[]", `"x"`, "{}", `{"tool_name":7}`, `{"cwd":"/srv"}`, `{"tool_name":"Write"`} {
		_, err := readHookEvent(strings.NewReader(text))
		require.Error(t, err, text)
		f := api.AsFailure(neverRefused(err))
		require.Equal(t, api.ExitError, f.Exit(), "no mistake is a refusal")
		require.Contains(t, f.Next, "jvsfs hook PATH")
	}
}

// A refusal of a hook is the one failure with the code that harnesses know.
func TestHookFailuresAreNoRefusals(t *testing.T) {
	for _, f := range []*api.Failure{api.Usagef("x"), {Class: api.ClassNoMount}, {Message: "x"}} {
		require.Equal(t, api.ExitError, api.AsFailure(neverRefused(f)).Exit())
	}
	refused := api.ExitWith(hookRefused)
	refused.Err = errRefusedByHook
	require.Equal(t, hookRefused, api.AsFailure(neverRefused(refused)).Exit())
	require.NoError(t, neverRefused(nil))
}
