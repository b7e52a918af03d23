package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is a user who may write nowhere in a history.
const nobody = 65534

// strange is a process of a user without permission: it asks for every change, and for the lease, and must come to nothing.
type strange struct {
	Mountpoint string
	Place      place
}

// stranger starts one, in a session of its own. Needs mu.
func (h *host) stranger() {
	if h.daemon == 0 || !h.does(opStranger) {
		return
	}
	all := h.places()
	text, err := json.Marshal(strange{h.mountpoint(), all[h.rng.IntN(len(all))]})
	if err != nil {
		panic(err)
	}
	out, err := os.OpenFile(h.at("meta", fmt.Sprintf("strangers-of-%d", h.Number)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer out.Close() //nolint:errcheck // the stranger has its own
	cmd := exec.Command("/proc/self/exe", "stranger", string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil { // reap waits for it
		panic(err)
	}
}

// run makes every call once, and writes down what became of each in one line.
func (s strange) run() error {
	for _, one := range s.calls() {
		if _, err := fmt.Printf("%d %s %s\n", os.Getpid(), one.name, resultText(one.call())); err != nil {
			return err
		}
	}
	return nil
}

type strangeCall struct {
	name string
	call func() error
}

// harmless calls change nothing, and may be granted to anybody.
var harmless = []string{"chown_nothing", "chown_nothing_of_root"}

func (s strange) calls() []strangeCall {
	at := func(names ...string) string {
		return filepath.Join(append([]string{s.Mountpoint, s.Place.Rel}, names...)...)
	}
	file, root, fresh := at("log"), at(), at("made", fmt.Sprintf("strange-%d", os.Getpid()))
	open := func(path string, flags int) func() error {
		return func() error {
			fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}
	}
	ask := func(request map[string]any) func() error {
		return func() error {
			_, err := control{s.Mountpoint, s.Place.Rel}.ask(request)
			return err
		}
	}
	times := []unix.Timespec{{Sec: 1}, {Sec: 1}}
	return []strangeCall{
		{"chown_nothing", func() error { return unix.Chown(file, -1, -1) }},
		{"chown_nothing_of_root", func() error { return unix.Chown(root, -1, -1) }},
		{"chown", func() error { return unix.Chown(file, nobody, nobody) }},
		{"chmod", func() error { return unix.Chmod(file, 0o666) }},
		{"utimes", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0) }},
		{"truncate", func() error { return unix.Truncate(file, 0) }},
		{"open_write", open(file, unix.O_WRONLY)},
		{"open_trunc", open(file, unix.O_RDONLY|unix.O_TRUNC)},
		{"create", open(fresh, unix.O_WRONLY|unix.O_CREAT)},
		{"mkdir", func() error { return unix.Mkdir(fresh, 0o700) }},
		{"mknod", func() error { return unix.Mknod(fresh, unix.S_IFIFO|0o600, 0) }},
		{"symlink", func() error { return unix.Symlink("x", fresh) }},
		{"link", func() error { return unix.Link(file, fresh) }},
		{"rename", func() error { return unix.Rename(file, fresh) }},
		{"unlink", func() error { return unix.Unlink(file) }},
		{"rmdir", func() error { return unix.Rmdir(at("saves")) }},
		{"setxattr", func() error { return unix.Setxattr(file, "user.strange", []byte("x"), 0) }},
		{"removexattr", func() error { return unix.Removexattr(file, "user.strange") }},
		{"acquire", ask(map[string]any{"op": "acquire", "steal": true})},
		{"steal", ask(map[string]any{"op": "steal"})},
		{"release", ask(map[string]any{"op": "release"})},
		{"handover", ask(map[string]any{"op": "handover", "pid": os.Getpid(), "wait_ms": 100})},
		{"offer", ask(map[string]any{"op": "handover", "host": nameOf(0), "wait_ms": 100})},
		{"enforce", ask(map[string]any{"op": "enforce", "mode": "observe", "wait_ms": 100})},
		{"umount", ask(map[string]any{"op": "umount"})},
	}
}

// collectStrangers reads which processes were strangers, and which grants they got.
func (h *history) collectStrangers() error {
	names, err := filepath.Glob(h.at("meta", "strangers-of-*"))
	for _, name := range names {
		b, rerr := os.ReadFile(name)
		err = errors.Join(err, rerr)
		host := number(name[strings.LastIndexByte(name, '-')+1:])
		for line := range strings.Lines(string(b)) {
			w := strings.Fields(line)
			if len(w) != 3 {
				continue // its last words
			}
			h.strangers(host, number(w[0]), w[1], w[2])
		}
	}
	return err
}

func (h *history) strangers(host, pid int, call, result string) {
	h.did["strange_calls"]++
	for _, t := range h.trees {
		if t.Strangers == nil {
			t.Strangers = map[[2]int]bool{}
		}
		t.Strangers[[2]int{host, pid}] = true
	}
	if result == resultOK && !slices.Contains(harmless, call) {
		h.bad = append(h.bad, finding{badStranger, fmt.Sprintf("host %d pid %d of user %d: %s succeeded", host, pid, nobody, call), -1})
	}
}
