package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// nobody is a user who may write nowhere in a history.
const nobody = 65534

// strangeCalls are what a user without permission does: every change, and requests for the lease, each once. All of it
// must come to nothing.
var strangeCalls = slices.Concat(harmless, []string{
	"chown log 65534 65534", "chmod log 0666", "utimens log 1 1", "truncate log 0",
	"open log wo", "open log ro,trunc", "open made/strange wo,creat 0600",
	"mkdir made/strange 0700", "mknod made/strange p 0600", "symlink x made/strange", "link log made/strange",
	"rename log made/strange", "unlink log", "rmdir saves", "setxattr log user.strange x", "removexattr log user.strange",
	`{"op": "acquire", "steal": true}`, `{"op": "steal"}`, `{"op": "release"}`, `{"op": "umount"}`,
	`{"op": "handover", "pid": 0, "wait_ms": 100}`, `{"op": "handover", "host": "` + nameOf(0) + `", "wait_ms": 100}`,
	`{"op": "enforce", "mode": "observe", "wait_ms": 100}`,
})

// harmless calls change nothing, and may be granted to anybody.
var harmless = []string{"chown log -1 -1", "chown . -1 -1"}

// A request to the daemon of the mount at Path, about the worktree To, is an operation, too. A pid in it is the asker's.
func init() {
	operation.Add("ask", func(_ *operation.Box, c operation.Command) error {
		var request map[string]any
		if err := json.Unmarshal(c.Data, &request); err != nil {
			return err
		}
		if _, is := request["pid"]; is {
			request["pid"] = os.Getpid()
		}
		_, err := control{c.Path, c.To}.ask(request)
		return err
	})
}

// strange are the commands to a stranger, who first says which process he is.
func strange(mountpoint string, of place) []operation.Command {
	all := []operation.Command{{Op: "hello"}}
	for _, one := range strangeCalls {
		c := operation.Command{Op: "ask", Path: mountpoint, To: of.Rel, Data: []byte(one)}
		if one[0] != '{' {
			c = operation.Line(strings.Fields(one))
			c.Dir = filepath.Join(mountpoint, of.Rel)
		}
		all = append(all, c)
	}
	return all
}

// stranger starts one, in a session of its own. Needs mu.
func (h *host) stranger() {
	if h.daemon == 0 || !h.does(opStranger) {
		return
	}
	all := h.places()
	if err := h.tellStranger(strange(h.mountpoint(), all[h.rng.IntN(len(all))])); err != nil {
		panic(err)
	}
}

// tellStranger does not wait for a stranger: his commands have room in a pipe, and his answers go to a file.
func (h *host) tellStranger(commands []operation.Command) error {
	out, err := os.CreateTemp(h.at("meta"), fmt.Sprintf("stranger-%d-", h.Number))
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the stranger has its own
	r, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()  //nolint:errcheck // likewise
	defer in.Close() //nolint:errcheck // its end is the stranger's
	for _, c := range commands {
		if err := json.NewEncoder(in).Encode(c); err != nil {
			return err
		}
	}
	cmd := exec.Command("/proc/self/exe", "stranger", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, out, os.Stderr
	return cmd.Start() // reap waits for it
}

// collectStrangers reads which processes were strangers, and which grants they got.
func (h *history) collectStrangers() error {
	names, err := filepath.Glob(h.at("meta", "stranger-*"))
	for _, name := range names {
		err = errors.Join(err, h.collectStranger(name, number(strings.Split(filepath.Base(name), "-")[1])))
	}
	return err
}

func (h *history) collectStranger(name string, host int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	said := json.NewDecoder(f)
	var who operation.Reply
	if said.Decode(&who) != nil || len(who.Vals) != 1 {
		return nil // he was killed before he said a word
	}
	for _, call := range strangeCalls {
		var r operation.Reply
		switch err := said.Decode(&r); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil // his last words
		case err != nil:
			return err
		}
		h.strangers(host, int(who.Vals[0]), call, resultText(r))
	}
	return nil
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
