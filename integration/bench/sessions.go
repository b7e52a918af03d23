package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Commands one after the other, each in a session of its own, as cron, `ssh HOST CMD` and
// editors' tasks run them. With the defaults of jvsfs the lease passes on with each of
// them, so this is no work under a lease that is held, and no row of the table.

const (
	sessionWork  = "first write of a new session"
	modeSession  = "session"
	sessionBlock = 40 // commands in each round
)

// sessionCost is what one step of such a command took: all times of all rounds.
type sessionCost struct {
	Step   string          `json:"step"`
	Native []time.Duration `json:"native_ns"`
	Jvsfs  []time.Duration `json:"jvsfs_ns,omitempty"` // empty: it is not done through a mount
}

// sessionMain is the command: it says how long its first write took it, in nanoseconds.
func sessionMain(file string) error {
	path, start := cstring(file), time.Now()
	fd, err := rawOpen(path, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	if err != nil {
		return err
	}
	_, err = rawPwrite(fd, []byte("x\n"), 0)
	rawClose(fd)
	took := time.Since(start)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

// sessions measures native and jvsfs in turn. The client lets its lease go for that long.
func (d *driver) sessions() (all []sessionCost, err error) {
	jvsfs := d.target("jvsfs")
	if jvsfs == nil || !d.opts.sessions {
		return nil, nil
	}
	if err := d.opts.programs.release(jvsfs.box.Dir, d.client.pid()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.hold(d.client.pid())) }()
	all = []sessionCost{{Step: "open, write, close"}, {Step: "the whole command"}, {Step: "two flushes, for comparison"}}
	for range d.opts.rounds {
		if err := d.sessionRound(d.target("native"), jvsfs, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (d *driver) sessionRound(native, jvsfs *mounted, all []sessionCost) error {
	for range sessionBlock {
		if err := d.session(native, &all[0].Native, &all[1].Native); err != nil {
			return err
		}
	}
	for range sessionBlock {
		if err := d.session(jvsfs, &all[0].Jvsfs, &all[1].Jvsfs); err != nil {
			return err
		}
	}
	for i := range sessionBlock {
		took, err := flushTwice(native.box.Dir, i)
		if err != nil {
			return err
		}
		all[2].Native = append(all[2].Native, took)
	}
	return nil
}

// session runs one command.
func (d *driver) session(m *mounted, write, whole *[]time.Duration) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(d.ctx, self, modeSession, m.box.path("session"))
	cmd.Env = append(os.Environ(), toolEnv(d.scratch)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	out, err := cmd.Output()
	took := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s on %s: %w: %s", sessionWork, m.name, err, lastLine(said.String()))
	}
	var inside time.Duration
	if err := json.Unmarshal(out, &inside); err != nil {
		return err
	}
	*write, *whole = append(*write, inside), append(*whole, took)
	return nil
}

// flushTwice is what a lease cannot be taken without: a record is made durable, then its
// name is.
func flushTwice(dir string, i int) (took time.Duration, err error) {
	name := filepath.Join(dir, fmt.Sprint("record", i))
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	parent, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = parent.Close() }()
	start := time.Now()
	f, err := os.Create(name + ".new")
	if err != nil {
		return 0, err
	}
	_, err = f.Write(make([]byte, 4096))
	err = errors.Join(err, f.Sync(), os.Rename(f.Name(), name), parent.Sync())
	took = time.Since(start)
	return took, errors.Join(err, f.Close())
}

func printSessions(w io.Writer, run mediumRun, write func(io.Writer, [][]string) error) error {
	if len(run.Sessions) == 0 {
		return nil
	}
	rows := [][]string{{sessionWork + ", on " + run.Medium, "native", "jvsfs", "more"}}
	for _, s := range run.Sessions {
		native := spreadOf(floats(s.Native)).duration()
		line := []string{s.Step, timeText(native), "-", "-"}
		if len(s.Jvsfs) > 0 {
			jvsfs := spreadOf(floats(s.Jvsfs)).duration()
			line = []string{s.Step, timeText(native), timeText(jvsfs), timeText(jvsfs - native)}
		}
		rows = append(rows, line)
	}
	fmt.Fprintln(w)
	return write(w, rows)
}
