package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease/audit"
)

const (
	chainLook = 250 * time.Millisecond
	chainRead = 256 << 10 // bytes at a time
	// chainLine bounds a line of the chain. The daemons write none that is longer.
	chainLine = 1 << 20
)

// chainFollower reads a chain as it grows. The file may be rotated, or begin to exist; its mount may end and come
// again, with another device number. So what was shown is known by its hash, and not only by its place.
type chainFollower struct {
	path string
	show func(audit.Record) error

	file *os.File // nil: not there yet
	at   int64    // up to here it was read
	part []byte   // of a line whose end is not there yet
	last string   // hash of the latest record that was shown
	skip []audit.Record
	anew bool // the file was just opened: what was shown may be in it
}

// follow shows the last lines of the chain, and then what is added, until it is interrupted.
func (a *auditCommand) follow(ctx context.Context, path string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var latest []audit.Record
	f := &chainFollower{path: path, show: func(r audit.Record) error {
		if latest = append(latest, r); len(latest) > max(a.lines, 0) {
			latest = latest[1:]
		}
		return nil
	}}
	defer f.close()
	if err := f.look(); err != nil {
		return err
	}
	for _, r := range latest {
		if err := a.show(r); err != nil {
			return err
		}
	}
	f.show = a.show
	tick := time.NewTicker(chainLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := f.look(); err != nil {
			return err
		}
	}
}

// look shows what is new. The errors of reading are those of a mount that is not there just now.
func (f *chainFollower) look() error {
	if f.file != nil {
		if err := f.read(); err != nil {
			return err
		}
		if f.still() {
			return nil
		}
		f.close()
	}
	file, err := host.OpenRegular(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTCONN):
		return nil // nothing has happened yet, or the mount is dead
	case err != nil:
		return err
	}
	f.file, f.at, f.part, f.anew = file, 0, nil, f.last != ""
	if err := f.read(); err != nil {
		return err
	}
	return f.flush()
}

// still reports whether the open file has the name, and was not cut short.
func (f *chainFollower) still() bool {
	var open, named unix.Stat_t
	if unix.Fstat(int(f.file.Fd()), &open) != nil {
		return false
	}
	if err := unix.Lstat(f.path, &named); err != nil {
		return errors.Is(err, unix.ENOENT) // rotated, and the next one is not there yet: the old one may grow
	}
	return open.Dev == named.Dev && open.Ino == named.Ino && open.Size >= f.at
}

// read reads to the end of the file.
func (f *chainFollower) read() error {
	// A daemon appends behind a mount: how long the file is may have been asked for before.
	var st unix.Statx_t
	_ = unix.Statx(int(f.file.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_SIZE, &st) // what fails will fail to be read
	buf := make([]byte, chainRead)
	for {
		n, err := f.file.ReadAt(buf, f.at)
		f.at += int64(n)
		if e := f.feed(buf[:n]); e != nil {
			return e
		}
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return nil // the next look reads on, or finds another file
		}
	}
}

// feed takes the bytes that follow, and passes the records on whose lines are complete.
func (f *chainFollower) feed(b []byte) error {
	f.part = append(f.part, b...)
	end := bytes.LastIndexByte(f.part, '\n') + 1
	if end == 0 && len(f.part) > chainLine {
		return fmt.Errorf("%s: a line of more than %d bytes is no record", f.path, chainLine)
	}
	lines := f.part[:end]
	f.part = slices.Clone(f.part[end:])
	return audit.Tail(bytes.NewReader(lines), f.take)
}

// take shows a record, unless it may have been shown from the same chain before.
func (f *chainFollower) take(r audit.Record) error {
	if !f.anew {
		f.last = r.RecordHash
		return f.show(r)
	}
	if f.skip = append(f.skip, r); r.RecordHash == f.last {
		f.skip, f.anew = nil, false // it is the same chain: what follows is new
	}
	return nil
}

// flush shows what was held back: the chain is another one.
func (f *chainFollower) flush() error {
	held := f.skip
	f.skip, f.anew = nil, false
	for _, r := range held {
		if err := f.take(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *chainFollower) close() {
	if f.file != nil {
		_ = f.file.Close() // only read from
		f.file = nil
	}
}
