// Package plan is what the torture test and the daemon under torture agree on: the faults of the daemon, and
// the form in which landed writes are noted.
package plan

import (
	"encoding/binary"
	"encoding/json"

	"golang.org/x/sys/unix"
)

// Env is the environment variable that carries a Daemon as JSON.
const Env = "JVSFS_TORTURE"

// BrokenEnv is the environment variable that names the rule that a mutant breaks.
const BrokenEnv = "JVSFS_TORTURE_BROKEN"

// What a store may lack.
const (
	LockManager = "lock manager" // flock does nothing
	LocalDisk   = "local disk"   // other hosts write there, too
)

// Daemon is the plan of faults for one daemon process.
type Daemon struct {
	Seed    uint64   `json:"seed"`
	Host    int      `json:"host"`
	Life    int      `json:"life"`    // how many daemons this host had before
	LeaseMS int      `json:"leaseMS"` // long pauses are measured in leases
	Lacks   []string `json:"lacks"`   // what the store does not have: LockManager, LocalDisk
	Points  []Point  `json:"points"`  // the first whose prefix fits counts
	Events  string   `json:"events"`  // file: what was done, when, where
	Page    string   `json:"page"`    // file: what the injector changes while the daemon runs
	Marks   []Marks  `json:"marks"`   // where grants are marked, for each worktree
}

// Marks says where the grants of a worktree are marked: on the backing side, between what lands there.
type Marks struct {
	Worktree string `json:"worktree"` // "": every one
	Log      string `json:"log"`      // file: where writes land
	Dir      string `json:"dir"`      // directory: a file for each mark, between the changes of names
	Base     uint64 `json:"base"`     // is added to the tokens
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
