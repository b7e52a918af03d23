package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// hostConfig is one host: a mount namespace and a pid namespace of its own, with one daemon and its writers.
type hostConfig struct {
	layout
	Seed     uint64
	Number   int
	Hosts    int    // how many there are
	Jvsfs    string // the binary under torture
	Writers  int    // of each worktree
	OnFree   string
	Tier     string   // a or c
	Lacks    []string // see plan.Daemon
	Broken   bool     // the binary is a mutant
	WallMS   int      // the wall clock's error at the start
	BootMS   int      // the boot clock's offset, for good
	NoFaults bool
	Patient  bool
	Focus    string
	Theme    theme
	Without  repertoire
	policy
}

// policy is the times of a lease, in milliseconds.
type policy struct{ LeaseMS, RenewMS, SkewMS, GraceMS int }

func (p policy) span(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// host supervises and torments. It is pid 1 of its pid namespace: whatever happens to it, nothing of it stays.
type host struct {
	hostConfig
	page   plan.Page
	events *os.File

	mu      sync.Mutex
	rng     *rand.Rand
	daemon  int // pid, 0 while there is none
	lives   int
	writers map[int]writer // by pid
	ending  bool           // nothing is started any more
	quiet   bool           // nothing is tormented any more
	calmed  chan struct{}  // closed when quiet
	paused  map[int]bool   // writers that are stopped on purpose
	modes
	successions
	second  int  // the daemon of the second mount
	pairing bool // there is one, or what is left of it
}

// writer is a writer process.
type writer struct {
	in    *os.File // its standard input; the end of it is the end of the writer
	of    place
	roams bool // writes to the roaming worktree
	once  bool // nobody comes after it
}

func (h *host) mountpoint() string { return h.at(fmt.Sprintf("mnt%d", h.Number)) }

func runHost(cfg hostConfig) error {
	h := &host{hostConfig: cfg, writers: map[int]writer{}, paused: map[int]bool{}, calmed: make(chan struct{}), rng: rand.New(rand.NewPCG(cfg.Seed, 11))}
	if err := h.settle(); err != nil {
		return err
	}
	if err := h.openLogs(); err != nil {
		return err
	}
	h.page.Set(plan.PageBoot, int64(h.span(h.BootMS)))
	h.page.Set(plan.PageWall, int64(h.span(h.WallMS)))
	if !h.NoFaults {
		h.page.Set(plan.PageActive, 1)
	}
	go h.reap()
	go h.freeTheDead()
	h.mu.Lock()
	h.startDaemon()
	for _, p := range h.places() {
		for range h.Writers {
			h.startWriter(p)
		}
	}
	if h.Roams {
		unix.CloseOnExec(roamFD)
		h.startRoamer()
	}
	h.mu.Unlock()
	if !h.NoFaults {
		go h.torment()
	}
	h.obey()
	return nil
}

// settle makes what a host has for itself: a /proc that fits, control sockets that others need not see, its files.
func (h *host) settle() error {
	for _, m := range [][2]string{{"proc", "/proc"}, {"tmpfs", "/run"}} {
		if err := unix.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	if err := errors.Join(unix.Sethostname([]byte(nameOf(h.Number))), os.MkdirAll(earsDir, 0o700)); err != nil {
		return err
	}
	var err error
	if h.page, err = plan.OpenPage(h.at("meta", fmt.Sprintf("page%d", h.Number))); err != nil {
		return err
	}
	if h.events, err = os.OpenFile(h.at("meta", fmt.Sprintf("host%d.events", h.Number)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	return os.Mkdir(h.mountpoint(), 0o755)
}

// obey follows the orchestrator: "quiet" ends the faults, the end of the input ends everything.
func (h *host) obey() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "quiet" {
			h.calm()
		}
	}
	h.calm()
	h.mu.Lock()
	h.ending = true
	for _, w := range h.writers {
		_ = w.in.Close()
	}
	h.mu.Unlock()
	h.await(3*time.Second, func() bool { return len(h.writers) == 0 })
	h.mu.Lock()
	pid := h.daemon
	h.mu.Unlock()
	if pid != 0 {
		_ = unix.Kill(pid, unix.SIGTERM)
	}
	h.await(3*time.Second, func() bool {
		return h.daemon == 0 && len(h.former) == 0 && h.newcomer == 0 && h.recovering == 0 && h.second == 0
	})
	abortConnections(h.mountpoint(), h.secondPoint()) // if there still are any: nothing that waits for their answers may outlive the host
}

func (h *host) await(limit time.Duration, done func() bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		ok := done()
		h.mu.Unlock()
		if ok {
			return
		}
	}
	h.note("host", "unended", 0)
}

func (h *host) calm() {
	h.page.Set(plan.PageActive, 0)
	h.page.Set(plan.PageFailing, 0)
	h.page.Set(plan.PageWall, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.quiet {
		close(h.calmed)
	}
	h.quiet = true
	for pid := range h.paused {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	for _, pid := range append([]int{h.daemon, h.newcomer}, h.former...) {
		if pid != 0 {
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
}

// note notes what was done to this host, in the form that the daemon uses.
func (h *host) note(where, what string, d time.Duration) {
	now := plan.Monotonic()
	if _, err := fmt.Fprintf(h.events, "%s %s %d %d - 0\n", where, what, now, now+int64(d)); err != nil {
		panic(err)
	}
}

func (h *host) startAgain(w writer) {
	switch {
	case w.once:
	case w.roams:
		h.startRoamer()
	default:
		h.startWriter(w.of)
	}
}

func (h *host) startWriter(p place) { h.startProcess("worker", h.writerConfig(p), writer{of: p}) }

func (h *host) startRoamer() {
	h.startProcess("roamer", roamerConfig{workerConfig: h.writerConfig(place{}), Turn: h.at("meta", "roam.turn")}, writer{roams: true})
}

func (h *host) writerConfig(p place) workerConfig {
	return workerConfig{Seed: h.rng.Uint64(), Host: h.Number, Mountpoint: h.mountpoint(), Place: p, Places: h.places(),
		History: h.at("histories"), OnPurpose: h.OnFree == "deny", LeaseMS: h.LeaseMS, Patient: h.Patient, Hosts: h.Hosts, Theme: h.Theme, Without: h.withoutNow()}
}

func (h *host) startProcess(role string, as any, w writer) (pid int) {
	cfg, err := json.Marshal(as)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe", role, string(cfg))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session of its own is a writer of its own
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	r, in, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = r.Close()
	w.in = in
	h.writers[cmd.Process.Pid] = w
	return cmd.Process.Pid
}

// reap waits for every child. It resumes processes that stopped themselves, and restarts those that died.
func (h *host) reap() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WUNTRACED, nil)
		if err != nil {
			time.Sleep(time.Millisecond) // no child, for the moment
			continue
		}
		h.mu.Lock()
		switch {
		case ws.Stopped() && h.writers[pid] == (writer{}): // also one of whom recover has not told yet
			go h.resumeLater(pid, h.pause())
		case ws.Stopped():
		case pid == h.second:
			h.second = 0
		case h.succeeded(pid, ws):
		default:
			h.buried(pid)
		}
		h.mu.Unlock()
	}
}

// restart waits a little: a daemon that ends at once must not be all that happens.
func (h *host) restart() {
	time.Sleep(20 * time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ending, h.daemon != 0, h.recovering != 0:
	case h.does(opRecover) && h.rng.IntN(3) == 0:
		h.recover()
	default:
		h.startDaemon()
	}
}

// buried is the end of a writer. Needs mu.
func (h *host) buried(pid int) {
	w, ok := h.writers[pid]
	if !ok {
		return
	}
	_ = w.in.Close()
	delete(h.writers, pid)
	delete(h.paused, pid)
	if !h.ending {
		h.startAgain(w)
	}
}

// pause is how long something is stopped: mostly for longer than a lease lasts without a renewal. Needs mu.
func (h *host) pause() time.Duration {
	if h.quiet {
		return 0
	}
	if h.rng.IntN(5) == 0 {
		return h.span(h.rng.IntN(h.LeaseMS / 2))
	}
	if h.Theme == holds { // others may need a lease and more until they are sure
		return h.span(h.LeaseMS*5/4 + h.rng.IntN(h.LeaseMS))
	}
	return h.span(h.LeaseMS*3/4 + h.rng.IntN(h.LeaseMS))
}

func (h *host) resumeLater(pid int, d time.Duration) {
	h.restUnlessQuiet(d)
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = unix.Kill(pid, unix.SIGCONT) // a number is not used again so soon
	delete(h.paused, pid)
}
