package lockdir

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// probePrefix begins the names that doctor makes in a lock directory. A worktree's id may begin so, too, but
// its files have longer names than a probe has.
const probePrefix = ".doctor-"

var probeFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.doctor-[0-9]+(\.[xlr])?$`) })

func isProbe(name string) bool { return probeFile().MatchString(name) }

// prober is a scratch name in a lock directory, and the user that tries the steps there.
type prober struct {
	dir, base string
	files     []*os.File
}

func (p *prober) name(suffix string) string { return p.base + suffix }

// probeStep is one operation on which the lease protocol relies. try returns nil if the file system does it,
// errLax if it permits what it must not, and another error otherwise.
type probeStep struct {
	id   string // of the finding
	what string
	try  func(*prober) error
	with string // what not every file system has, "" where only a failure can be in the way
}

// errLax says that the file system permitted an operation that it had to refuse, or refused one that it had to
// permit.
var errLax = errors.New("the file system does not do it")

// probeSteps are tried in order, up to the first that fails.
var probeSteps = []probeStep{
	{"locks.exclusive", "only one of two makes a name (O_EXCL)", (*prober).exclusive, ""},
	{"locks.link", "only one of two links a name", (*prober).link, "hard links"},
	{"locks.rename", "a rename replaces a name at once", (*prober).rename, ""},
	{"locks.flock", "flock keeps a second one out", (*prober).flock, "locks (flock)"},
	{"locks.sync", "files and names can be made durable", (*prober).sync, ""},
}

// probed is the result of the steps.
type probed struct {
	failedAt *probeStep // nil: all is well
	err      error
	skew     time.Duration // of the file system's clock against ours
}

// lacks reports whether the file system does not have what the step needs. No permission can change that,
// whatever the error is called.
func (r probed) lacks() bool { return r.failedAt.with != "" && lease.Lacks(r.err) }

// probeDir tries the steps with scratch names in dir, and removes these.
func probeDir(dir string, steps []probeStep) (r probed) {
	f, err := os.CreateTemp(dir, probePrefix+"*")
	if err != nil {
		return probed{failedAt: &probeStep{id: "locks.unwritable", what: "a file can be made"}, err: err}
	}
	p := &prober{dir: dir, base: f.Name(), files: []*os.File{f}}
	defer p.remove()
	before := time.Now()
	if _, err := f.WriteString("doctor\n"); err != nil {
		return probed{failedAt: &probeStep{id: "locks.unwritable", what: "a file can be written"}, err: err}
	}
	if info, err := f.Stat(); err == nil {
		r.skew = info.ModTime().Sub(before)
	}
	for i := range steps {
		if err := steps[i].try(p); err != nil {
			r.failedAt, r.err = &steps[i], err
			return r
		}
	}
	return r
}

func (p *prober) remove() {
	for _, f := range p.files {
		host.CloseFile(f)
	}
	for _, suffix := range []string{"", ".x", ".l", ".r"} {
		_ = os.Remove(p.name(suffix)) // what is left is found as a leftover
	}
}

func (p *prober) exclusive() error {
	return onlyOnce(func() error {
		f, err := os.OpenFile(p.name(".x"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		host.CloseFile(f)
		return err
	})
}

func (p *prober) link() error {
	if err := onlyOnce(func() error { return os.Link(p.name(""), p.name(".l")) }); err != nil {
		return err
	}
	same, err := p.sameFile("", ".l")
	if err == nil && !same {
		err = errLax
	}
	return err
}

// onlyOnce does an operation that must succeed once and fail the second time.
func onlyOnce(do func() error) error {
	if err := do(); err != nil {
		return err
	}
	switch err := do(); {
	case errors.Is(err, os.ErrExist):
		return nil
	case err == nil:
		return errLax
	default:
		return err
	}
}

func (p *prober) rename() error {
	f, err := os.OpenFile(p.name(".r"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // through no symbolic link
	if err != nil {
		return err
	}
	_, err = f.WriteString("renamed\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.name(".r"), p.name(".x")); err != nil {
		return err
	}
	text, err := os.ReadFile(p.name(".x"))
	if err == nil && string(text) != "renamed\n" {
		err = errLax
	}
	return err
}

func (p *prober) sameFile(a, b string) (bool, error) {
	one, err := os.Stat(p.name(a))
	if err != nil {
		return false, err
	}
	two, err := os.Stat(p.name(b))
	return err == nil && os.SameFile(one, two), err
}

// flock locks two open files of one inode: the second must not get it.
func (p *prober) flock() error {
	second, err := os.OpenFile(p.name(""), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	p.files = append(p.files, second)
	first := p.files[0]
	if err := unix.Flock(int(first.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return os.NewSyscallError("flock", err)
	}
	switch err := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		return errLax
	case !errors.Is(err, unix.EWOULDBLOCK):
		return os.NewSyscallError("flock", err)
	}
	return os.NewSyscallError("flock", unix.Flock(int(first.Fd()), unix.LOCK_UN))
}

func (p *prober) sync() error {
	if err := p.files[0].Sync(); err != nil {
		return err
	}
	dir, err := os.Open(p.dir)
	if err != nil {
		return err
	}
	defer host.CloseFile(dir)
	return dir.Sync()
}

// probeFindings words the result. name is the directory for people.
func probeFindings(name string, r probed, bound time.Duration) []finding.Finding {
	var out []finding.Finding
	switch {
	case r.failedAt == nil:
		out = append(out, finding.OK("locks.atomic", "%s is on a file system that links, renames, locks and syncs as leases need it", name))
	case errors.Is(r.err, errLax):
		out = append(out, finding.Fail(r.failedAt.id, lease.Elsewhere+": a local one, or NFS version 4", "%s: it does not hold that %s", name, r.failedAt.what))
	case r.lacks():
		out = append(out, finding.Fail(r.failedAt.id, lease.Elsewhere, "%s: its file system has no %s, by which %s: %v", name, r.failedAt.with, r.failedAt.what, withoutPath(r.err)))
	case errors.Is(r.err, os.ErrPermission) && os.Geteuid() != 0:
		out = append(out, finding.Warn("locks.denied", "run doctor as root", "%s: %v", name, withoutPath(r.err)))
	default:
		out = append(out, finding.Fail(r.failedAt.id, fixOfProbe(r.err), "%s: it cannot be seen that %s: %v", name, r.failedAt.what, withoutPath(r.err)))
	}
	if skew := r.skew.Abs(); skew > max(bound, ClockNoise) {
		out = append(out, finding.Fail("locks.clock", "set the clocks: of this host, or of the server that keeps the file system",
			"the time stamps of %s are %s away from this host's clock, more than the %s that leases allow", name, skew.Round(time.Millisecond), bound))
	}
	return out
}

// withoutPath removes the scratch name from an error: that file is gone, and its path begins with a daemon's
// descriptor.
func withoutPath(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

func fixOfProbe(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "make room on the file system"
	case errors.Is(err, unix.EDQUOT):
		return "raise the quota of the daemon's user"
	case errors.Is(err, unix.EROFS):
		return "mount the file system for writing"
	case errors.Is(err, os.ErrPermission):
		return "see who owns the directory (ls -ld), and whether it is immutable (lsattr -d)" // to root
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return lease.Elsewhere
	}
	return "look at the disk and the permissions of the lock directory"
}

// probeTexts are what a probe writes into its files.
var probeTexts = []string{"", "doctor\n", "renamed\n"}

// repairProbes removes the leftovers of an interrupted doctor: files with its own names and its own text only.
func repairProbes(d Dir) []finding.Finding {
	names, _ := namesIn(d.Path, isProbe) // an error was reported already
	var out []finding.Finding
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < LeftoverAge || info.Size() > 16 {
			continue
		}
		if text, err := os.ReadFile(name); err != nil || !slices.Contains(probeTexts, string(text)) {
			continue
		}
		if err := os.Remove(name); err != nil {
			out = append(out, finding.Fail("repair.failed", "run doctor as root", "%v", err))
			continue
		}
		out = append(out, finding.OK("repair.done", "%s: removed: it was left of a doctor that was interrupted", d.shown(name)))
	}
	return out
}
