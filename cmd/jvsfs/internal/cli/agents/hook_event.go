package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// hookEvent is what a harness tells a program that it runs before a tool: the fields that Claude Code's
// PreToolUse, Gemini CLI's BeforeTool and their kind have in common. All others are ignored.
type hookEvent struct {
	CWD   string          `json:"cwd"`
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
}

// hookLimit bounds an event. It has the text that is to be written.
const hookLimit = 64 << 20

// readingTools only read, whatever path they name. An agent that may not write must still be able to read.
var readingTools = map[string]bool{
	"Read": true, "NotebookRead": true, "Glob": true, "Grep": true, "LS": true, "LSP": true,
	"read_file": true, "read_many_files": true, "list_directory": true, "glob": true, "grep": true,
	"grep_search": true, "search_file_content": true, "view_file": true, "list_dir": true, "file_search": true,
}

// pathFields are the names that tools give to the file that they write.
var pathFields = map[string]bool{
	"file_path": true, "notebook_path": true, "path": true, "paths": true, "filePath": true, "absolute_path": true, "target_file": true,
}

func readHookEvent(in io.Reader) (hookEvent, error) {
	var ev hookEvent
	text, err := io.ReadAll(io.LimitReader(in, hookLimit+1))
	switch {
	case err != nil:
		return ev, fmt.Errorf("the event on standard input: %w", err)
	case len(text) > hookLimit:
		return ev, notAnEvent(fmt.Sprintf("it has more than %d bytes", hookLimit))
	case len(bytes.TrimSpace(text)) == 0:
		return ev, notAnEvent("it is empty")
	}
	if err := json.Unmarshal(text, &ev); err != nil {
		return ev, notAnEvent(err.Error())
	}
	if ev.Tool == "" && len(ev.Input) == 0 {
		return ev, notAnEvent("it has neither tool_name nor tool_input")
	}
	return ev, nil
}

func notAnEvent(why string) *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Message: "standard input has no event of a harness: " + why,
		Next: "pass the harness's JSON (tool_name, tool_input, cwd), or name the paths: jvsfs hook PATH..."}
}

// paths are what the tool is about to write. commands says that a command writes to its working directory.
func (ev hookEvent) paths(commands bool) []string {
	if readingTools[ev.Tool] {
		return nil
	}
	var input any
	if json.Unmarshal(ev.Input, &input) != nil {
		return nil // no tool_input
	}
	found := pathsIn(input, nil)
	if command := commandIn(input); command != "" {
		if patched := patchedPaths(command); len(patched) > 0 {
			found = append(found, patched...)
		} else if commands {
			found = append(found, ".")
		}
	}
	for i, path := range found {
		if !filepath.IsAbs(path) && ev.CWD != "" {
			found[i] = filepath.Join(ev.CWD, path)
		}
	}
	return found
}

// pathsIn collects the path fields of a tool's input. A tool that edits many files has a list of objects.
func pathsIn(v any, found []string) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			found = pathsIn(item, found)
		}
	case map[string]any:
		for name, value := range v {
			if pathFields[name] {
				found = append(found, textsOf(value)...)
				continue
			}
			found = pathsIn(value, found)
		}
	}
	return found
}

// textsOf is a text, or a list of them.
func textsOf(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			texts = append(texts, v)
		}
	case []any:
		for _, item := range v {
			texts = append(texts, textsOf(item)...)
		}
	}
	return texts
}

// commandIn is the command of a tool that runs one. Some harnesses give it as a list of words.
func commandIn(input any) string {
	fields, _ := input.(map[string]any)
	return strings.Join(textsOf(fields["command"]), "\n")
}

// patchHeads begin the lines of a patch, as apply_patch takes it, that name a file.
var patchHeads = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// patchedPaths are the files of a patch in a command.
func patchedPaths(command string) (paths []string) {
	if !strings.Contains(command, "*** Begin Patch") {
		return nil
	}
	for line := range strings.Lines(command) {
		for _, head := range patchHeads {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
