package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mounted is a target that is ready for work.
type mounted struct {
	target
	box    box
	cmd    *exec.Cmd // nil for native
	ended  chan struct{}
	output bytes.Buffer // of the daemon; whole once ended is closed
}

// mount makes the directories of a target in dir and starts its daemon.
func (t target) mount(p programs, dir, scratch string, disk bool) (*mounted, error) {
	m := &mounted{target: t, box: box{Target: t.name, Scratch: scratch, Disk: disk}}
	m.box.Backing = filepath.Join(dir, t.name)
	m.box.Dir = m.box.Backing
	if t.daemon == nil {
		return m, os.Mkdir(m.box.Dir, 0o755)
	}
	m.box.Backing += ".source"
	if err := t.missing(); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, t.name+".work")
	for _, d := range []string{m.box.Dir, m.box.Backing, work + "/lower", work + "/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	m.cmd = t.command(p, m.box.Backing, m.box.Dir, work)
	return m, m.start()
}

func (m *mounted) start() error {
	m.cmd.Stdout, m.cmd.Stderr = &m.output, &m.output
	m.cmd.SysProcAttr = ownGroup()
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.ended = make(chan struct{})
	go func() { _ = m.cmd.Wait(); close(m.ended) }()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if isMountPoint(m.box.Dir) {
			return nil
		}
		select {
		case <-m.ended:
			return fmt.Errorf("%s did not mount: %s", m.name, strings.ReplaceAll(strings.TrimSpace(m.output.String()), "\n", "; "))
		default:
		}
	}
	return errors.Join(fmt.Errorf("%s did not mount in time", m.name), m.unmount())
}

// isMountPoint looks at the table alone: a dead mount does not answer.
func isMountPoint(dir string) bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+dir+" ")
}

// unmount ends the daemon by taking its mount away; by force, which aborts the
// connection, when the mount is busy for long.
func (m *mounted) unmount() error {
	if m.cmd == nil {
		return nil
	}
	for range 100 {
		if !isMountPoint(m.box.Dir) || unix.Unmount(m.box.Dir, 0) == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if isMountPoint(m.box.Dir) {
		_ = unix.Unmount(m.box.Dir, unix.MNT_FORCE)
		_ = unix.Unmount(m.box.Dir, unix.MNT_DETACH)
	}
	return m.awaitEnd()
}

func (m *mounted) awaitEnd() error {
	select {
	case <-m.ended:
		return nil
	case <-time.After(2 * time.Second):
		// A copy of the mount in another mount namespace keeps it; nobody needs it.
		_ = m.cmd.Process.Kill()
		<-m.ended
		return nil
	}
}

func mountedBelow(dir string) bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err != nil || strings.Contains(string(table), " "+dir+"/")
}
