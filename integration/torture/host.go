package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// hostConfig is one host: a mount namespace and a pid namespace of its own, with one daemon and its writers.
type hostConfig struct {
	Seed     uint64
	Number   int
	Base     string // of the history
	Jvsfs    string // the binary under torture
	Writers  int
	OnFree   string
	Tier     string // a or c
	Off      []string
	WallMS   int // the wall clock's error at the start
	BootMS   int // the boot clock's offset, for good
	NoFaults bool
	Patient  bool
	Focus    string
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
	began  time.Time

	mu      sync.Mutex
	rng     *rand.Rand
	daemon  int // pid, 0 while there is none
	lives   int
	writers map[int]*os.File // pid -> its standard input
	ending  bool             // nothing is started any more
	quiet   bool             // nothing is tormented any more
	paused  map[int]bool     // writers that are stopped on purpose
}

func (h *host) at(names ...string) string {
	return filepath.Join(append([]string{h.Base}, names...)...)
}

func (h *host) mountpoint() string { return h.at(fmt.Sprintf("mnt%d", h.Number)) }

func runHost(cfg hostConfig) error {
	h := &host{hostConfig: cfg, began: time.Now(), writers: map[int]*os.File{}, paused: map[int]bool{},
		rng: rand.New(rand.NewPCG(cfg.Seed, 11))}
	// The namespaces are ours alone: a /proc that fits, and control sockets that others need not see.
	for _, m := range [][2]string{{"proc", "/proc"}, {"tmpfs", "/run"}} {
		if err := unix.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	var err error
	if h.page, err = plan.OpenPage(h.at("meta", fmt.Sprintf("page%d", h.Number))); err != nil {
		return err
	}
	if h.events, err = os.OpenFile(h.at("meta", fmt.Sprintf("host%d.events", h.Number)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(h.mountpoint(), 0o700); err != nil {
		return err
	}
	h.page.Set(plan.PageBoot, int64(h.span(h.BootMS)))
	h.page.Set(plan.PageWall, int64(h.span(h.WallMS)))
	if !h.NoFaults {
		h.page.Set(plan.PageActive, 1)
	}
	go h.reap()
	h.startDaemon()
	for range h.Writers {
		h.startWriter()
	}
	if !h.NoFaults {
		go h.torment()
	}
	h.obey()
	return nil
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
	for _, in := range h.writers {
		_ = in.Close()
	}
	h.mu.Unlock()
	h.await(3*time.Second, func() bool { return len(h.writers) == 0 })
	h.mu.Lock()
	pid := h.daemon
	h.mu.Unlock()
	if pid != 0 {
		_ = unix.Kill(pid, unix.SIGTERM)
	}
	h.await(3*time.Second, func() bool { return h.daemon == 0 })
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
	h.quiet = true
	for pid := range h.paused {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	if h.daemon != 0 {
		_ = unix.Kill(h.daemon, unix.SIGCONT)
	}
}

// note writes down what was done to this host, as the daemon does itself.
func (h *host) note(where, what string, d time.Duration) {
	now := plan.Monotonic()
	if _, err := fmt.Fprintf(h.events, "%s %s %d %d\n", where, what, now, now+int64(d)); err != nil {
		panic(err)
	}
}

// startDaemon mounts anew. What is left of the daemon before is a dead mount, which goes.
func (h *host) startDaemon() {
	for unix.Unmount(h.mountpoint(), unix.MNT_DETACH) == nil {
	}
	p := plan.Daemon{Seed: h.Seed, Host: h.Number, Life: h.lives, LeaseMS: h.LeaseMS, Off: h.Off, Points: pointsOf(h.Tier, h.Focus),
		Events: h.at("meta", fmt.Sprintf("daemon%d.events", h.Number)), Page: h.at("meta", fmt.Sprintf("page%d", h.Number)),
		Log: h.at("backing", "log")}
	h.lives++
	cmd := exec.Command(h.Jvsfs, "mount", "--foreground", h.at("backing"), h.mountpoint(), "--control", h.at("locks"),
		"--log-file", h.at("meta", fmt.Sprintf("daemon%d.log", h.Number)), "--on-free", h.OnFree,
		"--lease-duration", h.span(h.LeaseMS).String(), "--renew-interval", h.span(h.RenewMS).String(),
		"--max-clock-skew", h.span(h.SkewMS).String(), "--steal-grace", h.span(h.GraceMS).String())
	cmd.Env = append(os.Environ(), plan.Env+"="+p.JSON())
	// What comes beside its log: panics, and what the race detector finds.
	beside, err := os.OpenFile(h.at("meta", fmt.Sprintf("stderr%d.log", h.Number)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer beside.Close() //nolint:errcheck // the daemon has its own
	cmd.Stderr = beside
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	h.daemon = cmd.Process.Pid
}

func (h *host) startWriter() {
	cfg, err := json.Marshal(workerConfig{Seed: h.rng.Uint64(), Host: h.Number, Mountpoint: h.mountpoint(), History: h.at("histories"),
		OnPurpose: h.OnFree == "deny", LeaseMS: h.LeaseMS, Patient: h.Patient})
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe", "worker", string(cfg))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session of its own is a writer of its own
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = r.Close()
	h.writers[cmd.Process.Pid] = w
}

// reap waits for every child, resumes what stopped itself, and starts again what has died.
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
		case ws.Stopped() && pid == h.daemon:
			go h.resumeLater(pid, h.pause())
		case ws.Stopped():
		case pid == h.daemon:
			h.daemon = 0
			if !h.ending {
				time.Sleep(5 * time.Millisecond) // one that ends at once must not be all that happens
				h.startDaemon()
			}
		default:
			if in := h.writers[pid]; in != nil {
				_ = in.Close()
				delete(h.writers, pid)
				delete(h.paused, pid)
				if !h.ending {
					h.startWriter()
				}
			}
		}
		h.mu.Unlock()
	}
}

// pause is how long something is stopped: mostly longer than a lease. Needs mu.
func (h *host) pause() time.Duration {
	if h.quiet {
		return 0
	}
	return h.span(h.LeaseMS/4 + h.rng.IntN(2*h.LeaseMS))
}

func (h *host) resumeLater(pid int, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		quiet := h.quiet
		h.mu.Unlock()
		if quiet {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if pid == h.daemon || h.writers[pid] != nil {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	delete(h.paused, pid)
}

// pointsOf is what happens at the points of a daemon. In tier C takeovers need a whole silence of the old holder, so that
// fewer things must happen for one to come through.
func pointsOf(tier, focus string) []plan.Point {
	points := []plan.Point{
		{Prefix: "admitted.write", Short: 4000, Long: 1200, Stop: 500, Kill: 150},
		{Prefix: "admitted.", Short: 8000, Long: 4000, Stop: 1500, Kill: 800},
		{Prefix: "renew.", Short: 60000, Long: 25000, Stop: 10000, Kill: 5000},
		{Prefix: "", Short: 60000, Long: 4000, Stop: 2500, Kill: 2500},
	}
	if tier == "c" {
		points[len(points)-1] = plan.Point{Prefix: "", Short: 60000, Long: 8000, Stop: 2000, Kill: 1000}
	}
	if focus == "" {
		return points
	}
	long := 100000
	if focus == "enter.before_count" { // comes with every write
		long = 5000
	}
	return append([]plan.Point{{Prefix: focus, Long: long}}, points...)
}

// torment does to the host from outside what its daemon does not do to itself.
func (h *host) torment() {
	for {
		h.mu.Lock()
		d := time.Duration(50+h.rng.IntN(700)) * time.Millisecond
		h.mu.Unlock()
		time.Sleep(d)
		h.mu.Lock()
		if h.quiet {
			h.mu.Unlock()
			return
		}
		blows := []func(){h.stopDaemon, h.killDaemon, h.stopWriter, h.stopWriter, h.killWriter, h.stepClock, h.stepClock, h.slewClock, h.failDisk, h.failDisk, h.tearRecord}
		blows[h.rng.IntN(len(blows))]()
		h.mu.Unlock()
	}
}

func (h *host) stopDaemon() {
	if h.daemon != 0 {
		h.note("process", "stop", 0)
		_ = unix.Kill(h.daemon, unix.SIGSTOP) // reap resumes it
	}
}

func (h *host) killDaemon() {
	if h.daemon != 0 && h.rng.IntN(3) == 0 {
		h.note("process", "kill", 0)
		_ = unix.Kill(h.daemon, unix.SIGKILL)
	}
}

func (h *host) someWriter() int {
	pids := make([]int, 0, len(h.writers))
	for pid := range h.writers {
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		return 0
	}
	slices.Sort(pids)
	return pids[h.rng.IntN(len(pids))]
}

func (h *host) stopWriter() {
	if pid := h.someWriter(); pid != 0 && !h.paused[pid] {
		d := h.pause()
		h.note("writer", "stop", d)
		h.paused[pid] = true
		_ = unix.Kill(pid, unix.SIGSTOP)
		go h.resumeLater(pid, d)
	}
}

func (h *host) killWriter() {
	if pid := h.someWriter(); pid != 0 && h.rng.IntN(2) == 0 {
		h.note("writer", "kill", 0)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// stepClock steps the wall clock: a little, as a time server does, or a lot, as people do; and often back to the truth.
func (h *host) stepClock() {
	to := 0
	switch x := h.rng.IntN(20); {
	case x < 1:
		to = h.rng.IntN(6001) - 3000
	case x < 5:
		to = h.rng.IntN(801) - 400
	case x < 14:
		to = h.rng.IntN(h.SkewMS+1) - h.SkewMS/2
	}
	if h.Tier == "c" && to == 0 {
		to = h.WallMS // clocks stay apart
	}
	h.note("wall clock", "step", 0)
	h.page.Set(plan.PageWall, int64(h.span(to)))
}

// slewClock makes the wall clock run fast or slow for a while.
func (h *host) slewClock() {
	rate := h.rng.IntN(401) - 200 // thousandths
	h.note("wall clock", "slew", 0)
	go func() {
		for range 100 {
			time.Sleep(2 * time.Millisecond)
			h.mu.Lock()
			if !h.quiet {
				h.page.Set(plan.PageWall, h.page.Get(plan.PageWall)+int64(rate)*int64(2*time.Microsecond))
			}
			h.mu.Unlock()
		}
	}()
}

// failDisk makes the lock directory fail for a while: now and then, or always.
func (h *host) failDisk() {
	errno := []unix.Errno{unix.ENOSPC, unix.EIO, unix.EROFS}[h.rng.IntN(3)]
	ppm := []int{20000, 200000, 1000000}[h.rng.IntN(3)]
	d := h.span(10 + h.rng.IntN(h.LeaseMS))
	h.note("disk", unix.ErrnoName(errno), d)
	h.page.Set(plan.PageErrno, int64(errno))
	h.page.Set(plan.PageFailing, int64(ppm))
	go func() {
		time.Sleep(d)
		h.page.Set(plan.PageFailing, 0)
	}()
}

// tearRecord damages the record of the head claim as a crash of the machine might, and mends it later as an admin does, once
// nobody can be writing: with the gate's exclusive lock. A living holder mends it itself, by renewing. Only where the gate
// means something.
func (h *host) tearRecord() {
	names, err := filepath.Glob(h.at("locks", "*.claim.*"))
	if err != nil || len(names) == 0 || h.Tier == "c" || len(h.Off) > 0 {
		return
	}
	name := slices.Max(names)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	whole := make([]byte, 4096)
	if n, err := f.ReadAt(whole, 0); err != nil || n != len(whole) || bytes.IndexByte(whole, 0) >= 0 {
		_ = f.Close()
		return
	}
	torn := make([]byte, []int{512, 1024, 2048}[h.rng.IntN(3)])
	if _, err := f.WriteAt(torn, int64(h.rng.IntN(2)*256)); err != nil {
		panic(err)
	}
	h.note("record", "tear", 0)
	go h.mend(f, whole, name)
}

func (h *host) mend(f *os.File, whole []byte, claim string) {
	defer f.Close() //nolint:errcheck // nothing is buffered
	worktree, _, _ := bytes.Cut([]byte(filepath.Base(claim)), []byte(".claim."))
	gate, err := os.OpenFile(h.at("locks", string(worktree)+".gate"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer gate.Close() //nolint:errcheck // drops the lock
	for {
		time.Sleep(h.span(h.LeaseMS / 3))
		now := make([]byte, len(whole))
		if _, err := f.ReadAt(now, 0); err != nil || bytes.IndexByte(now, 0) < 0 {
			h.note("record", "mended by its holder", 0)
			return
		}
		if unix.Flock(int(gate.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			continue
		}
		if _, err := f.ReadAt(now, 0); err == nil && bytes.IndexByte(now, 0) >= 0 {
			_, err = f.WriteAt(whole, 0)
			h.note("record", "mended by an admin", 0)
		}
		return
	}
}
