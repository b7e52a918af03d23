package cases

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// specialCases are written in Go: they need two parties, many files, or time.
func specialCases() []Case {
	all := slices.Concat(lockCases, leaseCases, watchCases, mapCases, directoryCases, treeCases, hugeCases, socketCases, statCases, memoryCases)
	for i, seed := 0, uint64(0); i < 60; i, seed = i+1, seed+1 {
		all = append(all, Case{Name: fmt.Sprintf("exerciser/%02d", i), Slow: i >= 8, Run: func(t *Trial) { exercise(t, seed) }})
	}
	return append(all, parallelCases...)
}

// must ends a case whose preparation fails; the note says where.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// openAt opens a file of the trial until its end.
func (t *Trial) openAt(name string, flags int) int {
	fd, err := unix.Open(t.At(name), flags|unix.O_CLOEXEC, 0o666)
	must(err)
	t.Later(func() { _ = unix.Close(fd) })
	return fd
}

// shell notes what a command says and how it ends.
func (t *Trial) shell(what string, args ...string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.Dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	text := strings.ReplaceAll(string(bytes.TrimSpace(out)), t.Dir, "DIR")
	if err != nil && !errors.As(err, &exit) {
		text += err.Error()
	}
	t.Note("%s: %d %s", what, cmd.ProcessState.ExitCode(), text)
}
