package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A daemon keeps files beside its socket from which its mount can be recovered after a kill: what was mounted,
// and which leases it held. Only root can read them: they say what root runs next, and contain nonces. They do
// not decide about a lease; the record does (lease.Keeper.Adopt).

// MountState says what a mount was started as.
type MountState struct {
	Version    int             `json:"version"`
	Mountpoint string          `json:"mountpoint"`
	Source     string          `json:"source"`
	Locks      string          `json:"locks"`
	Layout     layout.Name     `json:"layout,omitempty"`    // "": written by a release without it
	Parts      string          `json:"parts,omitempty"`     // what its rules with taken_by: lease say
	Mark       int64           `json:"mark,omitempty"`      // of the records (treeLock); 0: written by a release without it
	Config     json.RawMessage `json:"config"`              // mountcfg's own form
	SourceFS   int64           `json:"source_fs,omitempty"` // the type of the source's file system, as statfs has it; 0: not known
	LocksFS    int64           `json:"locks_fs,omitempty"`  // that of the records
	Runs       bool            `json:"runs,omitempty"`      // the mount goes with the last of its runs
	Args       []string        `json:"args"`                // for people
	Since      time.Time       `json:"since"`
	Daemon     ProcessState    `json:"daemon"`
}

// ProcessState identifies a process until the next boot, and the clock that it read.
type ProcessState struct {
	PID           int    `json:"pid"`
	Start         uint64 `json:"start"`
	BootID        string `json:"boot_id"`
	PIDNamespace  string `json:"pid_namespace"`
	TimeNamespace string `json:"time_namespace"` // of CLOCK_BOOTTIME; "" where the kernel has none
}

// The form of state files.
const (
	StateVersion = 1
	maxState     = 4 << 20 // bytes of a state file
)

// StatePath is the file that says how to recover the mount of a device.
func StatePath(d api.Device) string { return besideSocket(d, "state") }

// LeasesPath is the file that says which leases its daemon holds.
func LeasesPath(d api.Device) string { return besideSocket(d, "leases") }

func besideSocket(d api.Device, kind string) string {
	return filepath.Join(runDirOf(d), fileOf(d, kind))
}

// ThisProcess identifies the calling process.
func ThisProcess() (ProcessState, error) {
	st, err := process.ReadStat(os.Getpid())
	if err != nil {
		return ProcessState{}, err
	}
	boot, err := process.ReadBootID()
	return ProcessState{
		PID: os.Getpid(), Start: st.Start, BootID: boot, PIDNamespace: process.PIDNamespaceOf("self"), TimeNamespace: timeNamespace(),
	}, err
}

func timeNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		return "" // before Linux 5.6
	}
	return ns
}

// Liveness says whether the process still runs. A process of another boot has ended.
func (p ProcessState) Liveness() lease.Liveness {
	if boot, err := process.ReadBootID(); err == nil && p.BootID != boot {
		return lease.Gone
	}
	return gate.Liveness(lease.Holder{PID: p.PID, StartTime: p.Start, BootID: p.BootID, PIDNamespace: p.PIDNamespace})
}

// SameClock reports whether times on the boot clock of that process mean the same here.
func (p ProcessState) SameClock() bool {
	boot, err := process.ReadBootID()
	return err == nil && p.BootID == boot && p.TimeNamespace == timeNamespace()
}

// newState ends the name of a state file that is being written. A device has one daemon, and one goroutine at a
// time writes a file. The file of a killed daemon is removed with the others.
const newState = ".new"

// WriteState replaces a state file, completely or not at all.
func WriteState(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := path + newState
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fd, err := unix.Open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: tmp, Err: err}
	}
	f := os.NewFile(uintptr(fd), tmp)
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// ReadState reads a state file that only root can have written, or this user in a directory of his own.
func ReadState(path string, v any) error {
	if err := trustedDir(filepath.Dir(path)); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer CloseFile(f)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not a file that is %s's alone: it is not believed", path, keeper())
	}
	dec := json.NewDecoder(io.LimitReader(f, maxState))
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// keeper is the user who alone writes what this process believes.
func keeper() string {
	if ByUser() {
		return process.UserName(uint32(os.Geteuid()))
	}
	return "root"
}

// trustedDir refuses a directory in which a user other than this one could have put a file.
func trustedDir(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only %s writes to: what lies there is not believed", dir, keeper())
	}
	return nil
}

// ReadMountState reads the state that the daemon of a device left.
func ReadMountState(d api.Device) (*MountState, error) {
	st := new(MountState)
	if err := ReadState(StatePath(d), st); err != nil {
		return nil, err
	}
	if st.Version != StateVersion {
		return nil, fmt.Errorf("%s is of another release of jvsfs (%d, want %d)", StatePath(d), st.Version, StateVersion)
	}
	return st, nil
}

// ForgetMount removes the socket and the state that the daemon of a device left.
func ForgetMount(d api.Device) error { return RemoveAll(SocketPath(d), LeasesPath(d), StatePath(d)) }

// RemoveAll removes state files, and files that were left half written.
func RemoveAll(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if err := os.Remove(path + newState); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
