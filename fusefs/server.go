package fusefs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// Options says what to serve and where.
type Options struct {
	Source     string        // absolute
	Mountpoint string        // absolute; "" or Source itself mounts in place
	Layout     layout.Layout // which guard stands over what
	// Guards returns the guard of a worktree: always the same one for one id. It is called from
	// many goroutines, at the first mutation below a worktree.
	Guards func(id lease.WorktreeID) (*gate.Guard, error)
	// Known reports whether anybody has asked Guards for a worktree: whoever acquires its lease has
	// to. nil: never.
	Known func(id lease.WorktreeID) bool
	// LeaseForAll says that nobody may write without a lease, not even to what all worktrees share.
	LeaseForAll bool
	// Locks has the rules for lock files of other programs, and who holds them; nil: there are none.
	Locks *tenure.Book
	// Exits tells when a process ends that has made a lock file of git. nil: the file stays.
	Exits *process.ExitWatch
	// Off is closed when nobody wants the file system any more: then Open waits no longer for the rename
	// of a root through another mount. nil: never.
	Off <-chan struct{}
	// OnRefusal gets refusals where there is no guard, in the request's own goroutine. It must not
	// block. May be nil.
	OnRefusal func(*gate.Refusal)

	// Repository is the root of the repository that the one worktree belongs to, "" for none.
	Repository string
	// Errno is the answer to a refusal where there is no guard; 0 is EROFS.
	Errno syscall.Errno
	// Enforcement is the same as the guards'. nil enforces. In mode read-only the whole mount is
	// read-only, even where there is no guard.
	Enforcement *gate.Enforcement
	// Exempt says that guards have exempt places. That needs a store that no other host writes: a
	// rename by another kernel is not seen here in time.
	Exempt bool

	policies engine.Policies // of tests, besides those of the layout
	// RelyOnFence is for a store of several hosts. It says that a host which takes an unreleased lease over cuts this one off the store
	// first. Then writes are not made durable one by one.
	RelyOnFence bool
	// Descriptors is the number of descriptors to stay below; 0 is the process's limit
	// (RLIMIT_NOFILE).
	Descriptors uint64
	// Cache and CacheTimeout say how long the kernel may cache names and attributes. A timeout of 0
	// is no caching.
	Cache        Cache
	CacheTimeout time.Duration
	// LocalLocks leaves file locks to the kernel, so they hold only between callers of this mount.
	// It is for a source that nobody else uses.
	LocalLocks bool
	// Attributes (MOUNT_ATTR_*) of the mount, in addition to those of the source's mount.
	Attributes int
	// Transport is how requests come from the kernel; "" is transport.WayDev.
	Transport transport.Way
	// ByUser mounts without privileges, for this user's own processes (usermount.go).
	ByUser bool
	Log    *zap.Logger
}

// Server serves one mount. Open takes the source, Mount starts to serve and attaches, Wait returns
// when it has been unmounted, Close frees the descriptors.
type Server struct {
	opts      Options
	source    int // O_PATH descriptor of the private clone's root
	fs        *rawFS
	transport *transport.Transport
	meter     transport.Meter
	made      *superblock // from Prepare to its attachment
	major     uint32
	minor     uint32
	abort     *os.File // see abort.go

	greeted chan struct{} // closed when a mount of a user may serve, or never will
	left    chan struct{} // closed by Abandon
	leave   sync.Once

	serving sync.WaitGroup
	stop    chan struct{}
	once    sync.Once
}

// Open opens the source through a private clone of its mount. Nothing is visible yet. The
// descriptor stays valid under a mount on top of the source, and under a dead one.
func Open(o Options) (*Server, error) {
	if o.Layout == (layout.Layout{}) {
		return nil, errors.New("no layout: nothing would be guarded")
	}
	if o.Mountpoint == "" {
		o.Mountpoint = o.Source
	}
	if o.Errno == 0 {
		o.Errno = syscall.EROFS
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Enforcement == nil {
		o.Enforcement = gate.NewEnforcement(gate.Enforcing)
	}
	o.Source, o.Mountpoint = filepath.Clean(o.Source), filepath.Clean(o.Mountpoint)
	raiseDescriptorLimit()
	take := cloneMount
	if o.ByUser {
		take = openSource
	}
	fd, err := take(o.Source)
	if err != nil {
		return nil, err
	}
	if err := checkNames(o, fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	s := &Server{opts: o, source: fd, stop: make(chan struct{}), left: make(chan struct{})}
	if s.fs, err = newRawFS(o, fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if o.Exempt && s.fs.durable {
		err := fmt.Errorf("%s: %w: other hosts may write there too, and what they move is not seen in time", o.Source, ErrExempt)
		return nil, errors.Join(err, s.fs.close())
	}
	if s.fs.ruled() {
		if err := s.fs.rules.Bind(); err != nil {
			return nil, errors.Join(err, s.fs.close())
		}
	}
	o.Enforcement.OnSwitch(s.fs.beforeSwitch, s.fs.afterSwitch)
	return s, nil
}

// ErrExempt is the error of Open if Options.Exempt would not be safe.
var ErrExempt = errors.New("nothing can be exempt on this file system")

// SourceFD returns a directory descriptor (O_PATH) of the source below the mount.
func (s *Server) SourceFD() int { return s.source }

// Seal protects a directory of locks below the source from everybody but jvsfs. Nothing in it
// changes. Neither it nor a directory above it is moved or removed. Seal must be called before
// Mount. A path elsewhere is no error.
func (s *Server) Seal(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("seal %s: %w", path, err)
	}
	s.fs.sealed[tree.KeyOf(&st)] = true
	for dir := filepath.Dir(filepath.Clean(path)); len(dir) > len(s.opts.Source); dir = filepath.Dir(dir) {
		if err := unix.Stat(dir, &st); err != nil {
			return fmt.Errorf("seal %s: %w", path, err)
		}
		s.fs.above[tree.KeyOf(&st)] = true
	}
	return nil
}

// Mount is Prepare and Attach.
func (s *Server) Mount() error {
	if err := s.Prepare(); err != nil {
		return err
	}
	if err := s.Attach(); err != nil {
		s.Discard()
		return err
	}
	return nil
}

// Prepare makes the file system, answers the kernel's greeting and starts to serve. The mount is
// not attached yet, but has its device number. Attach, AttachBeneath, AttachOver or Discard must
// follow.
func (s *Server) Prepare() error {
	if s.opts.ByUser {
		return s.prepareByUser()
	}
	dev, m, err := newSuperblock(s.opts.Source, s.source)
	if err != nil {
		return err
	}
	s.newTransport(dev)
	s.fs.kernel.Dev = dev // closed with the file system
	hello, err := s.transport.Greet(s.opts.Transport, false)
	if err == nil {
		s.major, s.minor, err = m.make(s.source, s.opts.Attributes)
	}
	if err == nil {
		s.holdAbort()
		err = s.abortRings()
	}
	if err != nil {
		s.transport.Discard()
		m.release()
		return err
	}
	s.fs.greeted(&hello)
	s.made = m
	s.serving.Add(2)
	go func() { defer s.serving.Done(); s.transport.Serve(); s.once.Do(func() { close(s.stop) }) }()
	go func() { defer s.serving.Done(); s.fs.run(s.stop) }()
	raiseReadAhead(s.major, s.minor)
	return nil
}

// Attach makes the prepared mount visible at the mount point. At no moment is there a mount that
// does not answer, or a path that is half guarded. After an error Discard must follow.
func (s *Server) Attach() error {
	if s.opts.ByUser {
		return s.attachByUser()
	}
	return s.made.attach(s.opts.Source, s.opts.Mountpoint, s.source)
}

// Discard ends what Prepare has made and nobody has attached. When it returns nothing is served any
// more. After an attachment it does nothing.
func (s *Server) Discard() {
	if s.made == nil || s.Attached() {
		return
	}
	if s.opts.ByUser {
		s.discardByUser()
		return
	}
	s.made.release() // nothing refers to the superblock any more, so serving ends
	s.serving.Wait()
}

// Attached reports whether the prepared mount has been attached, wherever it is now.
func (s *Server) Attached() bool { return s.made != nil && s.made.attached }

// Wait returns when the file system has been unmounted and the last request has been answered.
func (s *Server) Wait() {
	if s.opts.ByUser {
		s.waitOrLeave()
		return
	}
	s.serving.Wait()
}

// Device returns the device number of the mount, as in /proc/self/mountinfo.
func (s *Server) Device() (major, minor uint32) { return s.major, s.minor }

// Unmount detaches the mount. If it is in use the error is unix.EBUSY, unwrapped. It does not
// detach another file system that is mounted on top.
func (s *Server) Unmount() error {
	major, minor, err := deviceMountedAt(s.opts.Mountpoint)
	if err != nil {
		return err
	}
	if major != s.major || minor != s.minor {
		return fmt.Errorf("%s: another file system is mounted on top; unmount that first", s.opts.Mountpoint)
	}
	if s.opts.ByUser {
		return UnmountByUser(s.opts.Mountpoint)
	}
	return unix.Unmount(s.opts.Mountpoint, unix.UMOUNT_NOFOLLOW)
}

// WorktreeOf finds the worktree that a path below the mount root belongs to.
func (s *Server) WorktreeOf(rel string) (lease.WorktreeID, bool) { return s.fs.worktreeOf(rel) }

// Shared reports whether a path below the mount root belongs to all checkouts of a git repository.
func (s *Server) Shared(rel string) bool {
	k := s.fs.ruleAt(strings.Trim(rel, "/")).Kind
	return k == layout.Everybodys || k == layout.AddOnly
}

// RuleAt is the rule of a path below the mount root, by name only.
func (s *Server) RuleAt(rel string) *layout.Rule { return s.fs.ruleAt(strings.Trim(rel, "/")) }

// Ready reports whether a path below the mount root belongs to a snapshot of JVS that is READY.
func (s *Server) Ready(rel string) bool {
	return s.fs.jvs != nil && s.fs.jvs.Ready(strings.Trim(rel, "/"))
}

// RootOf is where the root of a worktree lies below the source; "." is the source itself.
func (s *Server) RootOf(id lease.WorktreeID) string {
	return cmp.Or(s.fs.layout().RootOf(id), s.fs.rootOfPart(id))
}

// Layout is the layout with what is known of the source now.
func (s *Server) Layout() layout.Layout { return s.fs.layout() }

// LeaveTree lets other mounts of the repository rename the roots of worktrees. Call it after Wait
// and before Close, if somebody learns of the unmount before the process ends.
func (s *Server) LeaveTree() { s.fs.serving.close() }

// Close frees what Open took. Call it after Wait, or instead of Mount.
func (s *Server) Close() error {
	if s.isLeft() {
		return nil
	}
	return errors.Join(s.dropAbort(), s.fs.close())
}

// raiseDescriptorLimit raises the limit of descriptors as far as the kernel allows: every inode
// that the kernel remembers costs one. A limit that cannot be raised is no error; the budget stays
// below it.
func raiseDescriptorLimit() {
	limit := readUint("/proc/sys/fs/nr_open", 1<<20)
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}) == nil {
		return
	}
	var now unix.Rlimit // the hard limit is as far as this process may go
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &now) == nil {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: now.Max, Max: now.Max})
	}
}
