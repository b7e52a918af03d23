package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// roamNames are the names that the root of the roaming worktree has in turn. Records of the second have tokens above roamBase, so
// that a line tells under which name's lease it was written.
var roamNames = []string{"r1", "r2"}

const roamBase = 1 << 40

// roamFD is where every host has the log of the roaming worktree, wherever that is.
const roamFD = 3

var roamLog = fmt.Sprintf("/proc/1/fd/%d", roamFD) // a host is the first process of its namespace

func (l layout) roaming(name string) string { return l.at("backing", "worktrees", name) }

// makeRoamer makes the roaming worktree, and opens its log for all hosts.
func (l layout) makeRoamer() (*os.File, error) {
	for _, name := range roamNames {
		if err := os.MkdirAll(l.at("marks", "of-"+name), 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(l.roaming(roamNames[0]), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(l.roaming(roamNames[0])+"/log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
}

type roamerConfig struct {
	workerConfig
	Turn string // file: who renames has it locked
}

// roamer writes to the roaming worktree under the lease of the name that it has, and renames it.
type roamer struct {
	roamerConfig
	rng  *rand.Rand
	over atomic.Bool
	log  *os.File // on the backing store
	seq  atomic.Int64
}

func runRoamer(r *roamer) (err error) {
	r.rng = rand.New(rand.NewPCG(r.Seed, 13))
	if r.log, err = os.OpenFile(roamLog, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		r.over.Store(true)
	}()
	for ; !r.over.Load(); time.Sleep(time.Duration(r.rng.IntN(60)) * time.Millisecond) {
		r.once()
	}
	return nil
}

func (r *roamer) at(name string) string { return r.Mountpoint + "/worktrees/" + name }

// where is the name that the worktree has now, as the mount shows it; -1 where it shows none.
func (r *roamer) where() int {
	return slices.IndexFunc(roamNames, func(name string) bool {
		var st unix.Stat_t
		return unix.Stat(r.at(name)+"/log", &st) == nil
	})
}

// once takes the lease of the present name, writes, and now and then renames the root meanwhile.
func (r *roamer) once() {
	is := r.where()
	if is < 0 {
		return
	}
	token := r.take(is)
	if token == 0 {
		return
	}
	fd, err := unix.Open(r.at(roamNames[is])+"/log", unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // every write was looked at
	if r.held(is) != token {
		return
	}
	done := make(chan struct{})
	end := time.Now().Add(time.Duration(r.rng.IntN(r.LeaseMS)) * time.Millisecond)
	go func() {
		defer close(done)
		r.write(fd, token+uint64(is)*roamBase, end)
	}()
	if r.rng.IntN(3) > 0 {
		time.Sleep(time.Until(end) / 2)
		r.rename(is)
	}
	<-done
	r.release(is, token)
}

func (r *roamer) control(is int) control {
	return control{r.Mountpoint, "worktrees/" + roamNames[is]}
}

func (r *roamer) take(is int) uint64 {
	// One that ran out is still this one's by the records, and of no use: it must be acquired anew.
	if t := r.held(is); t != 0 && r.rng.IntN(2) == 0 {
		return t
	}
	a, err := r.control(is).ask(map[string]any{"op": "acquire", "steal": true})
	if err != nil {
		return 0
	}
	return a.Token
}

func (r *roamer) held(is int) uint64 { return r.control(is).held() }

func (r *roamer) release(is int, token uint64) {
	_, _ = r.control(is).ask(map[string]any{"op": "release", "fencing_token": token})
}

func (r *roamer) write(fd int, label uint64, end time.Time) {
	for time.Now().Before(end) && !r.over.Load() {
		line := plan.Record{Kind: plan.KindData, Token: label, Host: r.Host, PID: os.Getpid(), Handle: 1, Seq: int(r.seq.Add(1))}
		if _, err := unix.Write(fd, line.Encode()); err != nil || r.seq.Load()%4 == 0 {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// unclear are errors after which a rename may have happened, or may still.
func unclear(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOTCONN, unix.ECONNABORTED, unix.EIO, unix.EINTR}, func(e error) bool { return errors.Is(err, e) })
}

// rename gives the worktree the other name, under the leases of both. The marks around it bound the time of the
// rename.
func (r *roamer) rename(is int) {
	other := 1 - is
	token := r.take(other)
	if token == 0 {
		return
	}
	defer r.release(other, token)
	turn, err := os.OpenFile(r.Turn, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer turn.Close() //nolint:errcheck // drops the lock
	if unix.Flock(int(turn.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	r.mark(plan.KindMoving, is)
	switch err := unix.Rename(r.at(roamNames[is]), r.at(roamNames[other])); {
	case err == nil:
		r.mark(plan.KindMoved, other)
	case !unclear(err):
		r.mark(plan.KindStays, is)
	}
}

func (r *roamer) mark(kind byte, name int) {
	line := plan.Record{Kind: kind, Token: uint64(name) * roamBase, Host: r.Host, PID: os.Getpid(), Wall: plan.Realtime()}
	if _, err := r.log.Write(line.Encode()); err != nil {
		fmt.Fprintln(os.Stderr, "torture roamer:", err)
		os.Exit(1)
	}
}
