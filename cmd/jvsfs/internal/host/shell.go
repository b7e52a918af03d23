package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
)

// shells are the programs to which a lease may be bound without a word: who types, or writes
// a script, means them.
var shells = map[string]bool{
	"sh": true, "bash": true, "rbash": true, "dash": true, "ash": true, "hush": true, "zsh": true, "ksh": true, "mksh": true,
	"lksh": true, "oksh": true, "posh": true, "yash": true, "csh": true, "tcsh": true, "fish": true, "rc": true, "es": true,
	"nu": true, "elvish": true, "xonsh": true, "pwsh": true, "osh": true, "ysh": true, "murex": true, "ion": true,
}

// manyTools are single programs that are whatever they are called as.
var manyTools = map[string]bool{"busybox": true, "toybox": true}

// ShellProcess is CallerProcess where that is a shell. Anything else is not meant: in
// `bash -c 'jvsfs lock acquire .'` bash becomes its last command, whose parent is then the
// harness of all agents; and process 1 adopts whoever has lost its parent.
func ShellProcess() (int, error) {
	pid, err := CallerProcess()
	if err != nil {
		return 0, err
	}
	if pid == 1 || !isShell(readProgram(pid)) {
		return 0, noShell(pid)
	}
	return pid, nil
}

func noShell(pid int) *api.Failure {
	what := "is no shell"
	if pid == 1 {
		what = "adopts every orphan"
	}
	return &api.Failure{
		Class:   api.ClassUsage,
		Message: fmt.Sprintf("the lease would be that of process %d (%s), which has started this command and %s: all that it starts could write", pid, human.Shorten(CommandLine(pid), 64), what),
		Next:    fmt.Sprintf("run what is to write by jvsfs exec; or name who is to hold the lease: --pid $$ in a shell that goes on, --pid %d if that is meant", pid),
	}
}

// OwnEnd is the failure of a lease that is to be bound to this very command.
func OwnEnd() *api.Failure {
	return &api.Failure{
		Class:   api.ClassUsage,
		Message: fmt.Sprintf("process %d is this command, which ends at once: a shell becomes the last command that it runs", os.Getpid()),
		Next:    "run what is to write by jvsfs exec, or let the shell go on after this command",
	}
}

// program is what tells whether a process is a shell.
type program struct {
	name string // of the process
	file string // that it executes, "" where that may not be seen
	arg0 string // what it was called as
}

func readProgram(pid int) (p program) {
	if s, err := process.ReadStat(pid); err == nil {
		p.name = s.Comm
	}
	p.file, _ = process.Executable(pid) // may not be ours to see
	args, _ := process.Arguments(pid)   // likewise
	if len(args) > 0 {
		p.arg0 = args[0]
	}
	return p
}

// IsShell reports whether a process is a shell.
func IsShell(pid int) bool { return isShell(readProgram(pid)) }

// isShell goes by the file: a script has its own name, and its shell's arguments.
func isShell(p program) bool {
	file := tool(strings.TrimSuffix(p.file, " (deleted)"))
	if p.file == "" || manyTools[file] {
		file = tool(strings.TrimPrefix(p.arg0, "-"))
	}
	return shells[file] || shells[p.name]
}

// tool is the name of a program without its version.
func tool(path string) string {
	name := filepath.Base(path)
	if short := strings.TrimRight(name, "0123456789.-"); short != "" {
		return short
	}
	return name
}

// AgentProcess is the first process above this command that is neither a shell nor sudo and its kind: a harness
// of agents runs what it is told through a shell. 0 if there is none.
func AgentProcess() int {
	pids, helpers := Ancestry()
	for _, pid := range pids {
		if pid > 1 && !helpers[pid] && !isShell(readProgram(pid)) {
			return pid
		}
	}
	return 0
}
