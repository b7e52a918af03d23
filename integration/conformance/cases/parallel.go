package cases

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var parallelCases = []Case{
	{Name: "parallel/writers-and-readers", Alone: true, Run: writersAndReadersCase}, {Name: "parallel/appenders", Alone: true, Run: appendersCase},
	{Name: "parallel/creators", Alone: true, Run: creatorsCase}, {Name: "parallel/renamers", Alone: true, Run: renamersCase},
	{Name: "parallel/exclusive", Alone: true, Run: exclusiveCase}, {Name: "parallel/mixed", Alone: true, Run: mixedStressCase},
	{Name: "parallel/replaced-while-read", Alone: true, Run: replacedWhileReadCase}, {Name: "parallel/links", Alone: true, Run: parallelLinksCase},
}

const crowd = 64

// together runs f for 64 parties at once and counts the errors.
func (t *Trial) together(f func(i int) error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	failures := make(map[string]int)
	for i := range crowd {
		wg.Go(func() {
			if err := f(i); err != nil {
				mu.Lock()
				failures[errnoOf(err)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Note("failures %v", failures)
}

// writersAndReadersCase: 64 write their own part of one file and read those of all
// others; a part is always whole.
func writersAndReadersCase(t *Trial) {
	const part, rounds = 8192, 40
	t.file("f", 0)
	must(os.Truncate(t.At("f"), crowd*part))
	t.together(func(i int) error {
		f, err := os.OpenFile(t.At("f"), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read from
		buf := make([]byte, part)
		for round := range rounds {
			if _, err := f.WriteAt(bytes.Repeat([]byte{byte(round + 1)}, part), int64(i*part)); err != nil {
				return err
			}
			if _, err := f.ReadAt(buf, int64((i*7+round)%crowd*part)); err != nil {
				return err
			}
		}
		_, err = f.ReadAt(buf, int64(i*part))
		if err == nil && !bytes.Equal(buf, bytes.Repeat([]byte{rounds}, part)) {
			err = fmt.Errorf("a part is not what was written")
		}
		return err
	})
	text, err := os.ReadFile(t.At("f"))
	t.Note("%s %s", digest(text), errnoOf(err))
}

// appendersCase: no line of 64 appenders is lost or torn.
func appendersCase(t *Trial) {
	t.file("log", 0)
	t.together(func(i int) error {
		f, err := os.OpenFile(t.At("log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read from
		for n := range 50 {
			if _, err := fmt.Fprintf(f, "%02d %03d %s\n", i, n, bytes.Repeat([]byte{'x'}, i)); err != nil {
				return err
			}
		}
		return nil
	})
	t.shell("lines", "sh", "-c", "wc -l < log; sort log | md5sum; awk 'length($3) != $1+0' log | wc -l")
}

func creatorsCase(t *Trial) {
	t.together(func(i int) error {
		for n := range 30 {
			dir := t.At(fmt.Sprintf("d%d", n))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), fmt.Append(nil, i), 0o666); err != nil {
				return err
			}
		}
		return nil
	})
	t.shell("made", "sh", "-c", "find . -type f | wc -l; find . -type f | sort | xargs cat | md5sum")
	t.together(func(i int) error {
		for n := range 30 {
			if err := os.Remove(t.At(fmt.Sprintf("d%d", n), fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	})
	t.shell("left", "sh", "-c", "find . -type f | wc -l; rmdir d*; ls | wc -l")
}

// renamersCase passes files round in a ring of directories.
func renamersCase(t *Trial) {
	for i := range 8 {
		must(os.Mkdir(t.At(fmt.Sprint("r", i)), 0o777))
	}
	t.together(func(i int) error {
		at := t.At("r0", fmt.Sprint(i))
		if err := os.WriteFile(at, fmt.Append(nil, i), 0o666); err != nil {
			return err
		}
		for n := range 60 {
			next := t.At(fmt.Sprint("r", (n+1)%8), fmt.Sprint(i))
			if err := os.Rename(at, next); err != nil {
				return err
			}
			at = next
		}
		return nil
	})
	t.shell("where", "sh", "-c", "find . -type f | sort | md5sum; cat r4/* | wc -c")
}

// exclusiveCase: of 64 who create the same name, one wins, each time.
func exclusiveCase(t *Trial) {
	var won atomic.Int32
	t.together(func(int) error {
		for n := range 40 {
			fd, err := unix.Open(t.At(fmt.Sprint("n", n)), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
			if err == nil {
				won.Add(1)
				_ = unix.Close(fd)
			} else if err != unix.EEXIST {
				return err
			}
			if os.Mkdir(t.At(fmt.Sprint("m", n)), 0o777) == nil {
				won.Add(1)
			}
			if os.Symlink("x", t.At(fmt.Sprint("s", n))) == nil {
				won.Add(1)
			}
		}
		return nil
	})
	t.Note("%d won", won.Load())
}

// mixedStressCase does everything to a few names at once; any of the answers that a
// race allows will do, others are noted.
func mixedStressCase(t *Trial) {
	allowed := []string{"", "ENOENT", "EEXIST", "ENOTEMPTY", "ENOTDIR", "EISDIR", "EINVAL", "ELOOP", "EPERM"}
	calls := []operation.Command{
		{Op: "mkdir", Mode: 0o777}, {Op: "rmdir"}, {Op: "rename"}, {Op: "link"}, {Op: "unlink"}, {Op: "symlink"},
		{Op: "writefile", Flags: unix.O_CREAT | unix.O_TRUNC, Mode: 0o666, Data: []byte("text")}, {Op: "readfile"}, {Op: "readdir"},
		{Op: "chmod", Mode: 0o777}, {Op: "truncate", Len: 5}, {Op: "stat"}, {Op: "rename", Flags: unix.RENAME_EXCHANGE},
	}
	names := []string{"a", "b", "c", "a/a", "a/b", "b/a", "b/b", "c/a"}
	t.together(func(i int) error {
		b := operation.NewBox(t.Dir)
		for n := range 150 {
			x := i*31 + n*17
			c := calls[(x/3)%len(calls)]
			if c.Path, c.To = names[x%len(names)], names[(x/5+n)%len(names)]; c.Op == "symlink" {
				c.To = filepath.Base(c.To)
			}
			if r := b.Perform(c); !slices.Contains(allowed, r.Errno) {
				return fmt.Errorf("%s: %s", c.Op, r.Errno)
			}
		}
		return nil
	})
	t.shell("consistent", "sh", "-c", "find . -ls > /dev/null && echo yes")
}

// replacedWhileReadCase: whoever reads a file that is replaced by rename sees one
// version or another, whole.
func replacedWhileReadCase(t *Trial) {
	version := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, 6000) }
	must(os.WriteFile(t.At("f"), version(0), 0o666))
	t.together(func(i int) error {
		for n := range 40 {
			if i%8 == 0 {
				tmp := t.At(fmt.Sprintf("tmp%d", i))
				if err := os.WriteFile(tmp, version(n), 0o666); err != nil {
					return err
				}
				if err := os.Rename(tmp, t.At("f")); err != nil {
					return err
				}
				continue
			}
			text, err := os.ReadFile(t.At("f"))
			if err != nil {
				return err
			}
			if len(text) != 6000 || !bytes.Equal(text, bytes.Repeat(text[:1], 6000)) {
				return fmt.Errorf("a mixture")
			}
		}
		return nil
	})
}

func parallelLinksCase(t *Trial) {
	t.file("f", 100)
	t.together(func(i int) error {
		for n := range 30 {
			name := t.At(fmt.Sprintf("l%d-%d", i, n))
			if err := os.Link(t.At("f"), name); err != nil {
				return err
			}
			if n%2 == 0 {
				if err := os.Remove(name); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var st unix.Stat_t
	must(unix.Stat(t.At("f"), &st))
	t.Note("%d links", st.Nlink)
}
