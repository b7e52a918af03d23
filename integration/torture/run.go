package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// options are those of a run.
type options struct {
	seed           uint64
	limit, length  time.Duration
	tier, mutant   string
	off            []string
	focus          string
	untilCaught    bool
	jvsfs, dir     string
	hosts, writers int
	parallel       int
	verbose        bool
	noFaults       bool
	policy
}

// runAll runs histories until the time is over.
func runAll(o options) *report {
	r := newReport(o)
	end := time.Now().Add(o.limit)
	var all sync.WaitGroup
	for range o.parallel {
		all.Go(func() {
			runtime.LockOSThread() // hosts die with the thread that started them
			for time.Now().Before(end) {
				h := r.next()
				if h == nil {
					return
				}
				r.add(h, h.run())
			}
		})
	}
	all.Wait()
	return r
}

// history is a fresh backing directory, some hosts, and what they did.
type history struct {
	options
	number int
	seed   uint64
	base   string
	stuck  bool // nobody could write any more after the faults had ended
	// How often a record's stamp was set right (tier C).
	unblocked int

	evidence
	bad    []finding
	tally  tally
	events []event
	log    []string // what daemons said that no daemon should
	steals int
	late   int // late writes that daemons reported
}

func (h *history) at(names ...string) string {
	return filepath.Join(append([]string{h.base}, names...)...)
}

func (h *history) run() (err error) {
	rng := rand.New(rand.NewPCG(h.seed, 3))
	if h.tier == "both" {
		h.tier = "a"
		if h.number%4 == 3 {
			h.tier = "c"
		}
	}
	if h.base, err = os.MkdirTemp(h.dir, "jvsfs-torture-"); err != nil {
		return err
	}
	for _, d := range []string{"backing", "backing/made", "locks", "meta", "histories"} {
		if err := os.Mkdir(h.at(d), 0o700); err != nil {
			return err
		}
	}
	for name, size := range map[string]int{"log": 0, "slots": slotsCount * plan.RecordSize} {
		if err := os.WriteFile(h.at("backing", name), make([]byte, size), 0o600); err != nil {
			return err
		}
	}
	if err := h.play(rng); err != nil {
		return err
	}
	if err := h.collect(); err != nil {
		return err
	}
	h.bad, h.tally = check(h.evidence)
	if h.stuck && h.tier == "a" { // where there is no lock manager safety is promised, and not progress
		h.bad = append(h.bad, finding{Kind: badStuck, Text: "after the end of all faults nobody could write for 8 s", Line: -1})
	}
	for _, line := range h.log {
		h.bad = append(h.bad, finding{Kind: badLog, Text: line, Line: -1})
	}
	if len(h.bad) == 0 && !h.stuck || h.untilCaught {
		return os.RemoveAll(h.base)
	}
	return nil
}

// Findings that are not the checker's.
const (
	badStuck = "stuck"
	badLog   = "a daemon's log"
)

// play starts the hosts, waits, and ends them.
func (h *history) play(rng *rand.Rand) error {
	stop, observed := new(atomic.Bool), make(chan error, 2)
	go func() { observed <- h.observe(stop) }()
	go func() { observed <- h.unblock(stop) }()
	var hosts []*runningHost
	patient := rng.IntN(2) == 0
	onFree := []string{"deny", "acquire"}[rng.IntN(2)]
	off := h.off
	if h.tier == "c" {
		off = append(append([]string{}, h.off...), tierC...)
	}
	for n := range h.hosts {
		cfg := hostConfig{Seed: plan.SeedOf(h.seed, uint64(n+1)), Number: n, Base: h.base, Jvsfs: h.jvsfs, Writers: h.writers, OnFree: onFree,
			Tier: h.tier, Off: off, WallMS: rng.IntN(h.SkewMS) - h.SkewMS/2, BootMS: rng.IntN(1e9), NoFaults: h.noFaults, Patient: patient || h.focus != "", Focus: h.focus, policy: h.policy}
		if rng.IntN(4) == 0 {
			cfg.WallMS = rng.IntN(801) - 400
		}
		one, err := startHost(cfg)
		if err != nil {
			return errors.Join(err, endHosts(hosts))
		}
		hosts = append(hosts, one)
	}
	time.Sleep(h.length)
	for _, one := range hosts {
		_, _ = io.WriteString(one.in, "quiet\n") // a host that has died is found by its end
	}
	h.awaitProgress()
	err := endHosts(hosts)
	stop.Store(true)
	return errors.Join(err, <-observed, <-observed)
}

// awaitProgress waits until the writers are at work again.
func (h *history) awaitProgress() {
	time.Sleep(300 * time.Millisecond)
	was := h.logSize()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if h.logSize() > was+10*plan.RecordSize {
			return
		}
	}
	h.stuck = true
}

func (h *history) logSize() int64 {
	info, err := os.Stat(h.at("backing", "log"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// runningHost is a host process.
type runningHost struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out strings.Builder
}

func startHost(cfg hostConfig) (*runningHost, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	one := &runningHost{cmd: exec.Command("/proc/self/exe", "host", string(text))}
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setsid: true}
	one.cmd.Stderr = &one.out
	one.cmd.WaitDelay = time.Second
	if one.in, err = one.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return one, one.cmd.Start()
}

func endHosts(hosts []*runningHost) error {
	var errs []error
	for _, one := range hosts {
		_ = one.in.Close()
	}
	for _, one := range hosts {
		kill := time.AfterFunc(15*time.Second, func() { _ = one.cmd.Process.Kill() })
		err := one.cmd.Wait()
		kill.Stop()
		if err != nil {
			errs = append(errs, fmt.Errorf("a host: %w\n%s", err, one.out.String()))
		}
	}
	return errors.Join(errs...)
}

// unblock is an admin of tier C. A holder that dies while its clock is wrong, or whose last renewal took long, leaves a record
// that its stamp contradicts by more than the skew bound; by rule 7 nobody takes that over, ever. The admin sets the stamp right.
func (h *history) unblock(stop *atomic.Bool) error {
	size, since := int64(0), time.Now()
	for ; h.tier == "c" && !stop.Load(); time.Sleep(50 * time.Millisecond) {
		if now := h.logSize(); now != size {
			size, since = now, time.Now()
		}
		if time.Since(since) < 5*h.span(h.LeaseMS) {
			continue
		}
		since = time.Now()
		names, err := filepath.Glob(h.at("locks", "*.claim.*"))
		if err != nil || len(names) == 0 {
			continue
		}
		var r struct {
			At       time.Time `json:"last_renewed_at"`
			Released bool      `json:"released"`
		}
		b, err := os.ReadFile(slices.Max(names))
		if err != nil {
			return err
		}
		if json.Unmarshal(b, &r) == nil && !r.Released {
			h.unblocked++
			if err := os.Chtimes(slices.Max(names), r.At, r.At); err != nil {
				return err
			}
		}
	}
	return nil
}

// observe reads the slots on the backing store again and again.
func (h *history) observe(stop *atomic.Bool) error {
	f, err := os.Open(h.at("backing", "slots"))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var last [slotsCount]plan.Record
	for done := false; !done; time.Sleep(500 * time.Microsecond) {
		done = stop.Load() // once more after the end
		b := make([]byte, slotsCount*plan.RecordSize)
		begin := plan.Monotonic()
		if _, err := f.ReadAt(b, 0); err != nil {
			return err
		}
		end := plan.Monotonic()
		for i := range slotsCount {
			text := b[i*plan.RecordSize : (i+1)*plan.RecordSize]
			var r plan.Record
			if text[0] != 0 {
				// A write of a slot may be seen half done; the next look sees it whole.
				if r, err = plan.Parse(text); err != nil && !done {
					continue
				} else if err != nil {
					return err
				}
			}
			if r != last[i] || done {
				h.Slots = append(h.Slots, observation{i, begin, end, r})
				last[i] = r
			}
		}
	}
	return nil
}

// collect reads everything that was left.
func (h *history) collect() error {
	if h.tier == "c" {
		h.Late = h.span(h.SkewMS + h.GraceMS + h.RenewMS)
	}
	return errors.Join(h.collectLog(), h.collectCalls(), h.collectFiles(), h.collectClaims(), h.collectEvents(), h.collectDaemonLogs())
}

func (h *history) collectLog() error {
	b, err := os.ReadFile(h.at("backing", "log"))
	if err != nil {
		return err
	}
	for ; len(b) >= plan.RecordSize; b = b[plan.RecordSize:] {
		r, err := plan.Parse(b[:plan.RecordSize])
		if err != nil {
			return err
		}
		h.evidence.Log = append(h.evidence.Log, r)
	}
	if len(b) > 0 {
		return fmt.Errorf("the log ends with half a record: %q", b)
	}
	return nil
}

var historyName = regexp.MustCompile(`^h(\d+)-p(\d+)$`)

func (h *history) collectCalls() error {
	entries, err := os.ReadDir(h.at("histories"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		m := historyName.FindStringSubmatch(e.Name())
		if m == nil {
			return fmt.Errorf("unknown file %s", e.Name())
		}
		host, _ := strconv.Atoi(m[1])
		pid, _ := strconv.Atoi(m[2])
		if err := h.readCalls(h.at("histories", e.Name()), host, pid); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) readCalls(path string, host, pid int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var last *call
	in := bufio.NewScanner(f)
	for in.Scan() {
		w := strings.Fields(in.Text())
		switch {
		case len(w) == 6 && w[0] == "I":
			last = &call{Kind: w[1][0], Host: host, PID: pid, Handle: number(w[3]), Seq: number(w[4]), Begin: int64(number(w[5])), Token: uint64(number(w[2]))}
			h.Calls = append(h.Calls, last)
		case len(w) == 4 && w[0] == "R" && last != nil && number(w[1]) == last.Seq:
			last.End, last.Result = int64(number(w[2])), w[3]
		default:
			return fmt.Errorf("%s: %q", path, in.Text())
		}
	}
	return in.Err()
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // our own files
	}
	return n
}

func (h *history) collectFiles() error {
	entries, err := os.ReadDir(h.at("backing", "made"))
	for _, e := range entries {
		r, err := parseFileName(e.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, h.at("backing", "made", e.Name()), 0, unix.STATX_BTIME, &st); err != nil {
			return err
		}
		if st.Mask&unix.STATX_BTIME != 0 {
			h.Files = append(h.Files, file{r, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)})
		}
	}
	return err
}

func (h *history) collectClaims() error {
	names, err := filepath.Glob(h.at("locks", "*.claim.*"))
	for _, name := range names {
		t, err := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
		if err != nil {
			return err
		}
		h.Claims = append(h.Claims, t)
	}
	taints, err2 := filepath.Glob(h.at("locks", "*.taint.*"))
	h.late = len(taints)
	return errors.Join(err, err2)
}

// event is something that was done to a host.
type event struct {
	host        int
	where, what string
	begin, end  int64
}

var eventLine = regexp.MustCompile(`^(.+) (stopping|stop|long|short|kill|step|slew|tear|unended|E[A-Z]+|mended by .*) (\d+) (\d+)$`)

func (h *history) collectEvents() error {
	names, err := filepath.Glob(h.at("meta", "*.events"))
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		host := number(strings.TrimLeft(strings.TrimSuffix(filepath.Base(name), ".events"), "adehmnost"))
		for line := range strings.Lines(string(b)) {
			m := eventLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				return fmt.Errorf("%s: %q", name, line)
			}
			h.events = append(h.events, event{host, m[1], m[2], int64(number(m[3])), int64(number(m[4]))})
		}
	}
	return nil
}

// collectDaemonLogs looks for what a daemon says only when it is broken, and counts steals.
func (h *history) collectDaemonLogs() error {
	names, err := filepath.Glob(h.at("meta", "*.log"))
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		h.steals += strings.Count(string(b), `"msg":"lease steal"`)
		for _, sign := range []string{"DATA RACE", "panic", "fatal error:"} {
			if i := strings.Index(string(b), sign); i >= 0 {
				h.log = append(h.log, fmt.Sprintf("%s: %.300q", filepath.Base(name), b[i:]))
			}
		}
	}
	return nil
}
