package sibling

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// mark tells the complete program which version has started it.
const mark = "JVSFS_ETCD_FOR"

// Start is what this process was started with, before it read any of it.
type Start struct {
	args, env []string
	entered   bool   // by a jvsfs whose place this one has taken
	version   string // of that one
}

// Begin takes the mark out of the environment, so that no process that this one starts has it. It comes before everything that takes
// something out of the command line or of the environment.
func Begin() Start {
	s := Start{args: slices.Clone(os.Args)}
	s.version, s.entered = os.LookupEnv(mark)
	_ = os.Unsetenv(mark) // fails only for a name that is none
	s.env = slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, mark+"=") })
	return s
}

// Confirm is for the complete program: it goes on for nobody but the same version. Two versions may read a configuration differently, and
// who has started this one has judged it already.
func (s Start) Confirm() error {
	if !s.entered || s.version == api.Version() {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s is version %s, but the jvsfs that runs it is version %s", own(), api.Version(), s.version),
		Next: "install both from one package, or build both from one tree"}
}

// own is the path of this program, for people.
func own() string {
	if exe, err := os.Executable(); err == nil {
		return exe
	}
	return "this program"
}
