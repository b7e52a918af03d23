// Package plan is what the torture test and the daemon under torture agree on: what is done to the daemon, and how what
// lands is written down.
package plan

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Env is the environment variable that carries a Daemon as JSON.
const Env = "JVSFS_TORTURE"

// Daemon says what is done to one daemon process.
type Daemon struct {
	Seed    uint64   `json:"seed"`
	Host    int      `json:"host"`
	Life    int      `json:"life"`    // how many daemons this host had before
	LeaseMS int      `json:"leaseMS"` // long pauses are measured in leases
	Off     []string `json:"off"`     // rules that are switched off
	Points  []Point  `json:"points"`  // the first whose prefix fits counts
	Events  string   `json:"events"`  // file: what was done, when, where
	Page    string   `json:"page"`    // file: what the injector changes while the daemon runs
	Log     string   `json:"log"`     // file on the backing side: where writes land, and where grants are marked
}

// Point says how often what happens at the points of a name, in millionths.
type Point struct {
	Prefix string `json:"prefix"`
	Short  int    `json:"short"` // the thread sleeps for up to 10 ms
	Long   int    `json:"long"`  // the thread sleeps for half a lease to two and a half
	Stop   int    `json:"stop"`  // the process stops itself; its host resumes it
	Kill   int    `json:"kill"`  // the process kills itself
}

// JSON is the value of Env.
func (d Daemon) JSON() string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // plain data
	}
	return string(b)
}

// The slots of a Page.
const (
	PageActive  = iota // 0: the points and the disk do nothing
	PageWall           // nanoseconds by which the wall clock is wrong
	PageBoot           // nanoseconds by which the boot clock is ahead
	PageErrno          // what the lock directory's disk fails with
	PageFailing        // how many of a million calls fail
	pageSlots
)

// Page is memory that a host shares with its daemon.
type Page struct{ slots *[pageSlots]int64 }

// OpenPage maps the file at path, and makes it if absent.
func OpenPage(path string) (Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Page{}, err
	}
	defer f.Close() //nolint:errcheck // the mapping stays
	if err := f.Truncate(4096); err != nil {
		return Page{}, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return Page{}, fmt.Errorf("map %s: %w", path, err)
	}
	return Page{(*[pageSlots]int64)(unsafe.Pointer(&b[0]))}, nil
}

// Get reads a slot.
func (p Page) Get(slot int) int64 { return atomic.LoadInt64(&p.slots[slot]) }

// Set writes a slot.
func (p Page) Set(slot int, v int64) { atomic.StoreInt64(&p.slots[slot], v) }

// Kinds of a Record.
const (
	KindData  = 'D' // a write of a writer
	KindGate  = 'G' // a taker has LOCK_EX and is about to claim
	KindBegin = 'B' // the token was claimed
)

// RecordSize is the length of a Record, with its newline.
const RecordSize = 64

// Record is one line of the log on the backing store: a write as it landed, or the mark of a taker. Its place in the file
// is the order of landing, for every line is one O_APPEND write.
type Record struct {
	Kind   byte
	Token  uint64
	Host   int
	PID    int   // the writer's, or that of the holder who was granted, in the pid namespace of the host
	Handle int   // data: which open handle
	Seq    int   // data: number of the writer's call
	Wall   int64 // marks: CLOCK_REALTIME of the machine, nanoseconds, sampled before the mark was written
}

// Encode is the line.
func (r Record) Encode() []byte {
	last := r.Wall
	if r.Kind == KindData {
		last = int64(r.Handle)*1e10 + int64(r.Seq)
	}
	line := fmt.Sprintf("%c %020d %02d %07d %019d", r.Kind, r.Token, r.Host, r.PID, last)
	return append(fmt.Appendf(nil, "%-*s", RecordSize-1, line), '\n')
}

// Parse reads a line of RecordSize bytes.
func Parse(b []byte) (Record, error) {
	var r Record
	var last int64
	if len(b) != RecordSize || b[RecordSize-1] != '\n' {
		return r, fmt.Errorf("no record: %q", b)
	}
	_, err := fmt.Sscanf(string(b), "%c %d %d %d %d", &r.Kind, &r.Token, &r.Host, &r.PID, &last)
	if err != nil {
		return r, fmt.Errorf("no record: %q: %w", b, err)
	}
	switch r.Kind {
	case KindData:
		r.Handle, r.Seq = int(last/1e10), int(last%1e10)
	case KindGate, KindBegin:
		r.Wall = last
	default:
		return r, fmt.Errorf("no record: %q", b)
	}
	return r, nil
}

// Monotonic is CLOCK_MONOTONIC in nanoseconds, which everybody on the machine shares.
func Monotonic() int64 { return now(unix.CLOCK_MONOTONIC) }

// Realtime is CLOCK_REALTIME in nanoseconds, whatever the page says.
func Realtime() int64 { return now(unix.CLOCK_REALTIME) }

func now(clock int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// SeedOf makes a seed for a part of a run.
func SeedOf(seed uint64, parts ...uint64) uint64 {
	for _, p := range parts {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], seed)
		binary.LittleEndian.PutUint64(b[8:], p)
		seed = 14695981039346656037 // FNV-1a
		for _, c := range b {
			seed = (seed ^ uint64(c)) * 1099511628211
		}
	}
	return seed
}
