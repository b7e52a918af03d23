//go:build jvsfs_torture

// Package inject is the enemy inside a daemon under torture. Its build tag keeps it out of every other build.
package inject

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// enemy is nil in a process that nobody tortures.
var enemy = load()

type state struct {
	plan.Daemon
	page   plan.Page
	events *os.File
	log    *os.File
	points sync.Map // name -> plan.Point

	mu  sync.Mutex
	rng *rand.Rand
}

func load() *state {
	text := os.Getenv(plan.Env)
	if text == "" {
		return nil
	}
	e := new(state)
	must(json.Unmarshal([]byte(text), &e.Daemon))
	var err error
	e.page, err = plan.OpenPage(e.Page)
	must(err)
	e.events, err = os.OpenFile(e.Events, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	must(err)
	e.log, err = os.OpenFile(e.Log, os.O_WRONLY|os.O_APPEND, 0)
	must(err)
	e.rng = rand.New(rand.NewPCG(plan.SeedOf(e.Seed, uint64(e.Host)), uint64(e.Life)))
	return e
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(99)
	}
}

func (e *state) active() bool { return e != nil && e.page.Get(plan.PageActive) != 0 }

func (e *state) draw(n int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rng.IntN(n)
}

func (e *state) ruleOf(name string) plan.Point {
	if v, ok := e.points.Load(name); ok {
		return v.(plan.Point)
	}
	var p plan.Point
	if i := slices.IndexFunc(e.Points, func(p plan.Point) bool { return strings.HasPrefix(name, p.Prefix) }); i >= 0 {
		p = e.Points[i]
	}
	e.points.Store(name, p)
	return p
}

// Point is a place in the code where the daemon may be paused or killed.
func Point(name string) {
	if !enemy.active() {
		return
	}
	p, x := enemy.ruleOf(name), enemy.draw(1e6)
	lease := time.Duration(enemy.LeaseMS) * time.Millisecond
	switch {
	case x < p.Kill:
		enemy.note(name, "kill", plan.Monotonic(), 0)
		must(unix.Kill(os.Getpid(), unix.SIGKILL))
		select {}
	case x < p.Kill+p.Stop:
		enemy.during(name, "stop", func() { must(unix.Kill(os.Getpid(), unix.SIGSTOP)) })
	case x < p.Kill+p.Stop+p.Long:
		d := lease/2 + time.Duration(enemy.draw(int(2*lease)))
		enemy.during(name, "long", func() { time.Sleep(d) })
	case x < p.Kill+p.Stop+p.Long+p.Short:
		d := time.Duration(enemy.draw(int(10 * time.Millisecond)))
		enemy.during(name, "short", func() { time.Sleep(d) })
	}
}

// during notes the start of what is done by itself, too: a pause may never end.
func (e *state) during(name, what string, do func()) {
	begin := plan.Monotonic()
	if what == "stop" {
		e.note(name, "stopping", begin, 0)
	}
	do()
	e.note(name, what, begin, plan.Monotonic())
}

func (e *state) note(name, what string, begin, end int64) {
	_, err := fmt.Fprintf(e.events, "%s %s %d %d\n", name, what, begin, end)
	must(err)
}

// Disk is a system call on the lock directory, which may fail without having been done, or, by EIO, after it was done. It is
// a point before and after.
func Disk(op string, call func() error) error {
	Point(op + ".before")
	if err := fault(op); err != nil {
		if err == unix.EIO && enemy.draw(2) == 0 {
			_ = call() // the reply is lost
		}
		return err
	}
	err := call()
	Point(op + ".after")
	return err
}

// Look is a system call that only looks at the lock directory.
func Look(op string, call func() error) error {
	if err := fault(op); err == unix.EIO {
		return err
	}
	return call()
}

func fault(op string) error {
	if !enemy.active() {
		return nil
	}
	ppm := int(enemy.page.Get(plan.PageFailing))
	if ppm == 0 || enemy.draw(1e6) >= ppm {
		return nil
	}
	errno := unix.Errno(enemy.page.Get(plan.PageErrno))
	now := plan.Monotonic()
	enemy.note(op, unix.ErrnoName(errno), now, now)
	return errno
}

// Off reports whether a rule is switched off in this process.
func Off(rule string) bool { return enemy != nil && slices.Contains(enemy.Off, rule) }

// Wall is what the host's wall clock shows at t.
func Wall(t time.Time) time.Time {
	if enemy == nil {
		return t
	}
	return t.Add(time.Duration(enemy.page.Get(plan.PageWall)))
}

// Boot is what the host's boot clock shows at d.
func Boot(d time.Duration) time.Duration {
	if enemy == nil {
		return d
	}
	return d + time.Duration(enemy.page.Get(plan.PageBoot))
}

// Mark writes that a token is about to be claimed, or was, between the writes that land.
func Mark(kind byte, token uint64, pid int) {
	if enemy == nil {
		return
	}
	r := plan.Record{Kind: kind, Token: token, Host: enemy.Host, PID: pid, Wall: plan.Realtime()}
	_, err := enemy.log.Write(r.Encode())
	must(err)
}
