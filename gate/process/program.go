package process

import (
	"os"
	"path/filepath"
	"strings"
)

// Executable is the path of the file that a process executes, as the kernel says it. The error says that the
// process has ended, or may not be looked at.
func Executable(pid int) (string, error) { return os.Readlink(procFile(pid, "exe")) }

// Program is the name of the program that a caller runs, by its executable; "" if it is not known.
func Program(c Caller) string {
	path, err := Executable(int(c.TID))
	if err != nil {
		return ""
	}
	return ProgramName(path)
}

// ProgramName is the name of a program by its executable, also of one that was removed.
func ProgramName(executable string) string {
	return filepath.Base(strings.TrimSuffix(executable, " (deleted)"))
}

// Arguments is the command line of a process, the program's name first. It is nil without an error if the process
// hides it, or is a thread of the kernel.
func Arguments(pid int) ([]string, error) {
	raw, err := readSmall(procFile(pid, "cmdline"))
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00"), nil
}
