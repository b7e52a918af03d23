package doctor

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

// limitFacts are the limits for a daemon of this user; 0 is unknown.
type limitFacts struct {
	descriptors       uint64 // RLIMIT_NOFILE, hard
	descriptorsError  error
	ceiling           uint64 // fs.nr_open: no process's limit can be raised above it
	filesUsed, files  uint64 // fs.file-nr
	watchesUsed       uint64 // inotify watches of this user's processes
	watches           uint64 // fs.inotify.max_user_watches
	instancesUsed     uint64
	instances         uint64        // fs.inotify.max_user_instances
	requestTimeout    time.Duration // fs.fuse.default_request_timeout, 0 = none
	maxRequestTimeout time.Duration // fs.fuse.max_request_timeout
}

const (
	// descriptorsWanted is the number of descriptors that a mount needs for a large tree.
	descriptorsWanted = 65536
	// watchesWanted is the largest number of directories that a daemon watches.
	watchesWanted = 16384
	// timeoutWanted is longer than a flush of a large file takes.
	timeoutWanted = 5 * time.Minute
)

func gatherLimits() limitFacts {
	var l limitFacts
	var r unix.Rlimit
	if l.descriptorsError = unix.Getrlimit(unix.RLIMIT_NOFILE, &r); l.descriptorsError == nil {
		l.descriptors = r.Max
	}
	l.ceiling = sysctl("fs/nr_open")
	if text, err := os.ReadFile("/proc/sys/fs/file-nr"); err == nil {
		_, _ = fmt.Sscan(string(text), &l.filesUsed, new(uint64), &l.files) // what cannot be read stays unknown
	}
	l.watches = sysctl("fs/inotify/max_user_watches")
	l.instances = sysctl("fs/inotify/max_user_instances")
	l.watchesUsed, l.instancesUsed = inotifyUse("/proc", uint32(os.Geteuid()))
	l.requestTimeout = seconds("fs/fuse/default_request_timeout")
	l.maxRequestTimeout = seconds("fs/fuse/max_request_timeout")
	return l
}

// sysctl is 0 if the kernel does not have the setting.
func sysctl(name string) uint64 {
	text, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return 0
	}
	n, _ := numberIn(string(text))
	return n
}

// numberIn reads the number at the beginning of a text.
func numberIn(text string) (n uint64, ok bool) {
	_, err := fmt.Sscan(text, &n)
	return n, err == nil
}

func seconds(name string) time.Duration {
	n := sysctl(name)
	return time.Duration(n) * time.Second
}

// inotifyUse counts the watches and instances of a user's processes: /proc/PID/fdinfo
// has a line for each watch.
func inotifyUse(proc string, uid uint32) (watches, instances uint64) {
	links, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*")) // the pattern is well-formed
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != "anon_inode:inotify" {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || st.Uid != uid {
			continue
		}
		instances++
		watches += linesWith(filepath.Join(dir, "fdinfo", filepath.Base(link)), "inotify ")
	}
	return watches, instances
}

func linesWith(file, prefix string) (n uint64) {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), prefix) {
			n++
		}
	}
	return n
}

func limitFindings(l limitFacts) []finding.Finding {
	out := []finding.Finding{processLimit(l)}
	if l.files > 0 && l.filesUsed > l.files/10*9 {
		out = append(out, finding.Warn("limits.machine", "sysctl fs.file-max; find the processes that keep them open", "%d of the %d files that the machine may have open are open", l.filesUsed, l.files))
	}
	out = append(out, inotifyFindings(l)...)
	return append(out, timeoutFindings(l)...)
}

func timeoutFindings(l limitFacts) []finding.Finding {
	var out []finding.Finding
	for _, limit := range []struct {
		name string
		t    time.Duration
	}{{"default_request_timeout", l.requestTimeout}, {"max_request_timeout", l.maxRequestTimeout}} {
		if limit.t > 0 && limit.t < timeoutWanted {
			out = append(out, finding.Warn("fuse.timeout", "sysctl fs.fuse."+limit.name+"=0, then mount again", "fs.fuse.%s is %s", limit.name, limit.t))
		}
	}
	return out
}

func processLimit(l limitFacts) finding.Finding {
	const fix = "raise the hard limit (LimitNOFILE= in a unit, limits.conf)"
	switch {
	case l.descriptorsError != nil:
		return finding.Warn("limits.unknown", fix, "RLIMIT_NOFILE: %v", l.descriptorsError)
	case l.descriptors < descriptorsWanted:
		return finding.Warn("limits.processes", fix, "a process may open %d files; each inode that a mount remembers costs one, so large trees are slow", l.descriptors)
	case l.ceiling > 0 && l.ceiling < descriptorsWanted:
		return finding.Warn("limits.processes", "sysctl fs.nr_open=1048576", "fs.nr_open lets no process open more than %d files", l.ceiling)
	}
	return finding.OK("limits.processes", "a process may open %d files", l.descriptors)
}

func inotifyFindings(l limitFacts) []finding.Finding {
	var out []finding.Finding
	switch left := int64(l.watches) - int64(l.watchesUsed); {
	case l.watches == 0:
	case left < watchesWanted/4:
		out = append(out, finding.Warn("limits.inotify", fmt.Sprintf("sysctl fs.inotify.max_user_watches=%d", max(2*l.watches, 4*watchesWanted)),
			"%d of the %d inotify watches of this user are taken; a mount uses up to %d", l.watchesUsed, l.watches, watchesWanted))
	default:
		out = append(out, finding.OK("limits.inotify", "%d of %d inotify watches are taken", l.watchesUsed, l.watches))
	}
	if l.instances > 0 && l.instancesUsed >= l.instances {
		out = append(out, finding.Warn("limits.instances", fmt.Sprintf("sysctl fs.inotify.max_user_instances=%d", 2*l.instances),
			"all %d inotify instances of this user are taken", l.instances))
	}
	return out
}
