package sibling

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// Name is that of the complete program.
const Name = "jvsfs-etcd"

// library is where the package has it.
const library = "/usr/lib/jvsfs"

// build is the way to one that is missing.
const build = "go build -tags jvsfs_etcd -o %s ./cmd/jvsfs"

// Enter puts the complete program in the place of this one, with the arguments and the environment of the start. What this process has
// inherited stays open, also those of keep, which it has marked to be closed since. It returns if there is no program to trust, or the
// kernel does not run it.
func (s Start) Enter(keep ...int) error {
	if s.entered {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s was built without etcd, too", own()), Next: fmt.Sprintf("build it with etcd: "+build, own())}
	}
	program, err := find(directories())
	if err != nil {
		return err
	}
	closeOnExec(keep, 0)
	err = syscall.Exec(program, s.args, append(slices.Clip(s.env), mark+"="+api.Version()))
	closeOnExec(keep, unix.FD_CLOEXEC)
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("cannot run %s: %v", program, err), Next: "install it again, for this machine: file " + program, Err: err}
}

func closeOnExec(fds []int, flag int) {
	for _, fd := range fds {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag) // fails only for a descriptor that is none
	}
}

// directories are where the complete program may be: beside this one, whatever link has led here, and where the package has it.
func directories() []string {
	exe, err := os.Executable()
	if err != nil || filepath.Dir(exe) == library {
		return []string{library}
	}
	return []string{filepath.Dir(exe), library}
}

// find is the first of the programs that is there. One that is not to be trusted is not passed over: somebody must look at it.
func find(dirs []string) (string, error) {
	looked := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		program := filepath.Join(dir, Name)
		err := trust(program)
		if err == nil {
			return program, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		looked = append(looked, program)
	}
	return "", &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("this jvsfs was built without etcd, and there is no %s: looked for %s", Name, strings.Join(looked, " and ")),
		Next: fmt.Sprintf("install the package jvsfs, or build it from the tree of this jvsfs: "+build, looked[0])}
}

// trust refuses a program that somebody else may have written: this process is root's, as a rule.
func trust(program string) error {
	info, err := os.Lstat(program)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &api.Failure{Class: api.ClassUsage, Message: program + " is not run: it is no regular file", Next: "put the program itself there"}
	}
	if err := nobodyElseWrites(program, info); err != nil {
		return err
	}
	dir := filepath.Dir(program)
	if info, err = os.Stat(dir); err != nil {
		return err
	}
	return nobodyElseWrites(dir, info)
}

// nobodyElseWrites looks at the owner and at the mode. An access list that lets others write shows in the mode of the group.
func nobodyElseWrites(path string, info fs.FileInfo) error {
	const others = 0o022
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known || st.Uid != 0 && st.Uid != uint32(os.Geteuid()):
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s is not run: %s belongs to another user", Name, path), Next: "look at who has put it there; if it is right: chown root " + path}
	case info.Mode().Perm()&others != 0:
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s is not run: others than the owner may write %s", Name, path), Next: "look at who may; if it is right: chmod go-w " + path}
	}
	return nil
}
