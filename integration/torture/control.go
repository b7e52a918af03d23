package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// control speaks to the daemon of the mount at a path about one of its worktrees, one request a connection, as jvsfs's own
// commands do.
type control struct{ mountpoint, worktree string }

type answer struct {
	Event string          `json:"event"`
	Token uint64          `json:"fencing_token"`
	Error json.RawMessage `json:"error"`
	// lock_status
	Result struct {
		Token  uint64      `json:"fencing_token"`
		Record claimRecord `json:"record"`
	} `json:"result"`
}

// refusal is the daemon's word: it has decided, and said so.
type refusal string

func (r refusal) Error() string { return string(r) }

// socket is the path of the control socket of the mount there. Nothing listens while nothing is mounted. The
// device comes from the kernel, because the daemon may be stopped or dead. Every poll calls this; a list of all
// mounts would cost ten times as much.
func (c control) socket() string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, c.mountpoint, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, 0, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("/run/jvsfs/dev-%d-%d.sock", st.Dev_major, st.Dev_minor)
}

// ask returns the answer to a request, whose process is this one.
func (c control) ask(request map[string]any) (answer, error) {
	var a answer
	socket := c.socket()
	if socket == "" {
		return a, fmt.Errorf("nothing is mounted at %s", c.mountpoint)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return a, err
	}
	defer conn.Close() //nolint:errcheck // only one request
	if err := conn.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return a, err
	}
	request["version"] = 1
	if c.worktree != "" {
		request["path"] = c.worktree
	}
	line, err := json.Marshal(request)
	if err != nil {
		return a, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return a, err
	}
	for in := bufio.NewReader(conn); ; {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return a, err
		}
		a = answer{}
		if err := json.Unmarshal(text, &a); err != nil {
			return a, err
		}
		if a.Event != "result" {
			continue
		}
		if len(a.Error) > 0 {
			return a, refusal(a.Error)
		}
		return a, nil
	}
}

// held is the token that this process holds by the records, 0 if it holds none that can be seen.
func (c control) held() uint64 {
	host, err := os.Hostname()
	if err != nil {
		return 0
	}
	a, err := c.ask(map[string]any{"op": "lock_status"})
	if err != nil || a.Result.Record.Released || a.Result.Record.Token != a.Result.Token || !a.Result.Record.is(host, os.Getpid()) {
		return 0
	}
	return a.Result.Token
}

// pid is the daemon of the mount, by the file beside its socket; 0 if it is unknown.
func (c control) pid() int {
	b, err := os.ReadFile(strings.TrimSuffix(c.socket(), ".sock") + ".state")
	var state struct {
		Daemon struct{ PID int }
	}
	if err != nil || json.Unmarshal(b, &state) != nil {
		return 0
	}
	return state.Daemon.PID
}
