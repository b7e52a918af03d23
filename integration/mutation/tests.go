package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// newTemporary makes the directory for what tests make, also those of other users.
func (r *runner) newTemporary(scratch string) error {
	r.temporary = filepath.Join(scratch, "t")
	return errors.Join(os.Chmod(scratch, 0o711), os.Mkdir(r.temporary, 0o700), os.Chmod(r.temporary, 0o777|os.ModeSticky))
}

// test runs tests of a package with a mutant in force, where `go test` would run them.
func (r *runner) test(ctx context.Context, built programs, pkg string, number int, pattern string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTime)
	defer cancel()
	// Into a file, not through a pipe: what a test leaves behind would keep the pipe open.
	said, err := os.CreateTemp(filepath.Dir(built[pkg]), "said-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(said.Name()) //nolint:errcheck // the directory goes, too
	defer said.Close()           //nolint:errcheck // read from it by its name
	cmd := exec.CommandContext(ctx, built[pkg], "-test.paniconexit0", "-test.v", "-test.failfast", "-test.timeout", limit.String(), "-test.run", pattern)
	cmd.Dir = filepath.Join(r.root, pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", switchVar, number), "PWD="+cmd.Dir, "TMPDIR="+r.temporary)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = group
	err = cmd.Run()
	if cmd.Process != nil {
		if killed := group(); killed != nil && !errors.Is(killed, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("ending what the test left behind: %w", killed))
		}
	}
	out, reading := os.ReadFile(said.Name())
	return out, errors.Join(err, reading)
}

// testAlone builds a mutant by itself, and runs its tests.
func (r *runner) testAlone(ctx context.Context, dir string, m mutation, limit time.Duration) ([]byte, error) {
	text, err := m.apply(r.root)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	at := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(at, text, 0o600); err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(dir, map[string]string{filepath.Join(r.root, m.File): at})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, totalTime)
	defer cancel()
	return r.goCommand(ctx, "test", "-count=1", "-vet=off", "-v", "-timeout", limit.String(), "-run", m.pattern(), "-overlay", overlay, m.Package)
}
