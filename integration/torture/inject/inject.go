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
	logs   map[string]*os.File // by path
	points sync.Map            // name -> plan.Point

	mu  sync.Mutex
	rng *rand.Rand
}

func load() *state {
	text := os.Getenv(plan.Env)
	if text == "" {
		return nil
	}
	e := &state{logs: map[string]*os.File{}}
	must(json.Unmarshal([]byte(text), &e.Daemon))
	var err error
	e.page, err = plan.OpenPage(e.Page)
	must(err)
	e.events, err = os.OpenFile(e.Events, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	must(err)
	for _, m := range e.Marks {
		e.logs[m.Log], err = os.OpenFile(m.Log, os.O_WRONLY|os.O_APPEND, 0)
		must(err)
	}
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
func Point(name string) { Held(name, "-", 0) }

// Held is a Point at which a mutation of a worktree is under way under a token.
func Held(name, worktree string, token uint64) {
	if !enemy.active() {
		return
	}
	p, x := enemy.ruleOf(name), enemy.draw(1e6)
	lease := time.Duration(enemy.LeaseMS) * time.Millisecond
	at := event{where: name, worktree: worktree, token: token, begin: plan.Monotonic()}
	switch {
	case x < p.Kill:
		at.note("kill")
		must(unix.Kill(os.Getpid(), unix.SIGKILL))
		select {}
	case x < p.Kill+p.Stop:
		at.note("stopping") // by itself, too: a stop may never end
		must(unix.Kill(os.Getpid(), unix.SIGSTOP))
		at.note("stop")
	case x < p.Kill+p.Stop+p.Long:
		time.Sleep(lease/2 + time.Duration(enemy.draw(int(2*lease))))
		at.note("long")
	case x < p.Kill+p.Stop+p.Long+p.Short:
		time.Sleep(time.Duration(enemy.draw(int(10 * time.Millisecond))))
		at.note("short")
	}
}

// event is something that is done to the daemon.
type event struct {
	where, worktree string
	token           uint64
	begin           int64
}

func (e event) note(what string) {
	_, err := fmt.Fprintf(enemy.events, "%s %s %d %d %s %d\n", e.where, what, e.begin, plan.Monotonic(), e.worktree, e.token)
	must(err)
}

// Tortured reports whether there is an enemy in this process.
func Tortured() bool { return enemy != nil }

// Lacks reports whether the store of this process does not have something.
func Lacks(what string) bool { return enemy != nil && slices.Contains(enemy.Lacks, what) }

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
