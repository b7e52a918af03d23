package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/mount"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// runMount is the mount that a run uses, with others. The run is counted (host.RunLock) from before it looks for
// the mount until it ends, so the mount does not go meanwhile.
type runMount struct {
	io    console.Streams
	point string
	dir   string        // where CMD is to run
	made  bool          // by this run
	lock  *host.RunLock // nil: the run is not counted
}

// leavingPatience is how long a mount may take to go before somebody is told what is waited for.
const leavingPatience = time.Second

// enterMount counts this run among those of the mount that serves dir, or that will.
func enterMount(ctx context.Context, io console.Streams, dir string) (*runMount, error) {
	for {
		m, err := runMountOf(io, dir)
		if err != nil {
			return nil, err
		}
		if m.lock, err = host.OpenRunLock(host.RunDir(), m.point); err != nil {
			if _, none := lookup.JVSFSAt(m.point); host.ByUser() && none == nil { // a user without a directory uses what is mounted
				return m, nil
			}
			return nil, err
		}
		err = m.lock.Await(ctx, m.lock.Share, host.RunUses, leavingPatience, func() {
			console.Note(io)("waiting for the mount at " + m.point + " to go: its last run has ended")
		})
		if err != nil {
			m.lock.Close()
			return nil, err
		}
		if now, err := runMountOf(io, dir); m.lock.Current() && err == nil && now.point == m.point {
			return m, nil
		}
		m.lock.Close() // it went meanwhile: look again
	}
}

// runMountOf finds the mount point for a directory, mounted or not.
func runMountOf(io console.Streams, dir string) (*runMount, error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	abs, on, err := host.Resolve(dir, mounts)
	if err != nil {
		return nil, err
	}
	m := &runMount{io: io, dir: abs}
	if host.IsJVSFS(on) {
		m.point = on.Mountpoint
		return m, nil
	}
	m.point, err = place.SourceOver(abs)
	return m, err
}

// setUp mounts if need be, and prepares; one run at a time does so.
func (m *runMount) setUp(ctx context.Context, prepare func() error) error {
	if m.lock == nil {
		return m.setUpAlone(ctx, prepare)
	}
	err := m.lock.Await(ctx, m.lock.Alone, host.RunSetsUp, leavingPatience, func() {
		console.Note(m.io)("waiting for another run to set up " + m.point)
	})
	if err != nil {
		return err
	}
	return errors.Join(m.setUpAlone(ctx, prepare), m.lock.Drop(host.RunSetsUp))
}

func (m *runMount) setUpAlone(ctx context.Context, prepare func() error) error {
	if err := m.mountUnlessMounted(ctx); err != nil {
		return err
	}
	if err := lookup.MustBeDirectory(m.dir); err != nil { // looked at through the mount
		return err
	}
	return prepare()
}

func (m *runMount) mountUnlessMounted(ctx context.Context) error {
	if on, err := lookup.JVSFSAt(m.point); err == nil {
		return client.Ping(ctx, on)
	}
	err := m.mount()
	if on, none := lookup.JVSFSAt(m.point); err != nil && none == nil { // somebody else was faster
		return client.Ping(ctx, on)
	}
	m.made = err == nil
	return err
}

// Mount runs jvsfs mount, which knows who may mount what, and how.
func (m *runMount) mount() error {
	var out, notes bytes.Buffer
	cmd := exec.Command("/proc/self/exe", "mount", "--json", "--for-runs", "--", m.point)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = &out, &notes
	err := host.RunChild(cmd)
	if err != nil {
		return mountFailure(err, out.Bytes(), notes.String())
	}
	fmt.Fprint(m.io.Err, notes.String())
	var done mount.Mounted
	if err := json.Unmarshal(out.Bytes(), &done); err != nil {
		return fmt.Errorf("jvsfs mount: %w", err)
	}
	m.sayBeneath(done.Beneath)
	return nil
}

// mountFailure is the failure of jvsfs mount as its own.
func mountFailure(err error, out []byte, notes string) error {
	var report struct {
		Error *api.Failure `json:"error"`
	}
	exited, is := errors.AsType[*exec.ExitError](err)
	if !is || json.Unmarshal(out, &report) != nil || report.Error == nil {
		return fmt.Errorf("jvsfs mount: %w: %s", err, notes)
	}
	report.Error.Code = api.ExitCode(exited.ExitCode())
	return report.Error
}

// sayBeneath names the processes that write past the new mount. Those that have started this one wait for it.
func (m *runMount) sayBeneath(all []api.BusyEntry) {
	line, _ := host.Ancestry()
	own, _ := os.Readlink("/proc/self/exe")
	all = slices.DeleteFunc(all, func(e api.BusyEntry) bool {
		exe, _ := process.Executable(e.PID)
		return exe == own || slices.Contains(line, e.PID) // this run, and others, which come back through the mount
	})
	if len(all) == 0 {
		return
	}
	console.Note(m.io)(fmt.Sprintf("these processes use %s from before the mount, and their writes are not fenced:", m.point))
	fmt.Fprint(m.io.Err, api.BusyText(all[:min(len(all), mount.ShownStanding)], human.Columns(m.io.Err)))
}

// observes reports whether a mount lets everybody write.
func (m *runMount) observes(point string) bool {
	on, err := lookup.JVSFSAt(point)
	return err == nil && client.StatusOf(context.Background(), on).Enforce == gate.Observing
}

// leave ends the count of this run. If it was the last one, and the mount was made for runs, that goes.
func (m *runMount) leave(ctx context.Context) {
	if m.lock == nil {
		return
	}
	_ = os.Chdir("/") // this process would keep the mount busy; / is always there
	m.lock.Close()
	on, err := lookup.JVSFSAt(m.point)
	if err != nil {
		m.tidy()
		return
	}
	left, err := client.AskFor[api.Left](ctx, on, api.Leave{}, nil)
	switch f := api.AsFailure(err); {
	case err == nil && left.Kept:
		m.tidy()
	case err == nil && left.Stays != "" && !left.Runs:
		console.Note(m.io)(fmt.Sprintf("the mount at %s stays for now: %s", m.point, left.Stays))
	case err == nil, f.Class == api.ClassUsage, f.Class == api.ClassDenied: // of a release without runs, or another's
	default:
		m.saysStays(f)
	}
}

// saysStays tells why a mount is still there, if it is.
func (m *runMount) saysStays(f *api.Failure) {
	if _, err := lookup.JVSFSAt(m.point); err != nil {
		return
	}
	why := f.Message
	if f.Class == api.ClassBusy {
		why = "it goes when these processes have left it"
	}
	console.Note(m.io)(fmt.Sprintf("the mount at %s stays: %s", m.point, why))
	fmt.Fprint(m.io.Err, api.BusyText(f.Busy, human.Columns(m.io.Err)))
}

// tidy removes the file of the count where no daemon will.
func (m *runMount) tidy() {
	l, err := host.OpenRunLock(host.RunDir(), m.point)
	if err != nil {
		return
	}
	defer l.Close()
	if alone, err := l.Alone(host.RunUses); alone && err == nil {
		_ = l.Remove() // an empty file that stays harms nobody
	}
}
