package cases

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

var directoryCases = []Case{
	{Name: "readdir/large", Run: largeDirectoryCase}, {Name: "readdir/seek", Run: seekDirectoryCase},
	{Name: "readdir/removed-while-read", Run: removedWhileReadCase}, {Name: "readdir/added-while-read", Run: addedWhileReadCase},
	{Name: "readdir/renamed-while-read", Run: renamedWhileReadCase}, {Name: "readdir/rewind", Run: rewindCase},
	{Name: "readdir/types", Run: typesCase}, {Name: "readdir/small-buffer", Run: smallBufferCase},
	{Name: "readdir/every-byte", Run: everyByteCase}, {Name: "readdir/random-names", Run: randomNamesCase},
}

// dirent is one entry as getdents64 gives it.
type dirent struct {
	name string
	ino  uint64
	off  int64
	kind byte
}

func direntsOf(b []byte) (all []dirent) {
	for len(b) > 19 {
		l := int(binary.NativeEndian.Uint16(b[16:]))
		name, _, _ := strings.Cut(string(b[19:l]), "\x00")
		all = append(all, dirent{name, binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])), b[18]})
		b = b[l:]
	}
	return all
}

// readSome reads entries with a buffer of a size.
func readSome(fd, size int) []dirent {
	buf := make([]byte, size)
	n, err := unix.Getdents(fd, buf)
	must(err)
	return direntsOf(buf[:n])
}

func readRest(fd, size int) (all []dirent) {
	for {
		some := readSome(fd, size)
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

func (t *Trial) many(n int) {
	for i := range n {
		must(os.WriteFile(t.At(fmt.Sprintf("file-%05d-%s", i, strings.Repeat("x", i%60))), nil, 0o666))
	}
}

// counts notes how often the earlier names were seen. Those that stayed must be seen once.
func (t *Trial) counts(seen []dirent, stayed func(string) bool) {
	times := make(map[string]int)
	for _, e := range seen {
		times[e.name]++
	}
	staying, twice := 0, 0
	for name, n := range times {
		if stayed(name) {
			staying++
		}
		if n > 1 && stayed(name) {
			twice++
		}
	}
	t.Note("%d that stayed, %d seen twice", staying, twice)
}

func everything(string) bool { return true }

func largeDirectoryCase(t *Trial) {
	t.many(2500)
	seen := readRest(t.openAt(".", unix.O_RDONLY), 4096)
	t.counts(seen, everything)
	wrong := 0
	for _, e := range seen {
		var st unix.Stat_t
		if e.name == ".." {
			continue
		}
		if err := unix.Lstat(t.At(e.name), &st); err != nil || st.Ino != e.ino {
			wrong++
		}
	}
	t.Note("%d with another inode number", wrong)
}

// seekDirectoryCase goes back to every offset that was given, in no order.
func seekDirectoryCase(t *Trial) {
	t.many(500)
	fd := t.openAt(".", unix.O_RDONLY)
	all := readRest(fd, 2048)
	r := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for _, i := range r.Perm(len(all) - 1) {
		_, err := unix.Seek(fd, all[i].off, 0)
		must(err)
		if next := readSome(fd, 1024); len(next) == 0 || next[0] != all[i+1] {
			wrong++
		}
	}
	t.Note("%d entries, %d seeks went wrong", len(all), wrong)
	_, err := unix.Seek(fd, all[len(all)-1].off, 0)
	must(err)
	t.Note("%d after the last", len(readSome(fd, 1024)))
}

func removedWhileReadCase(t *Trial) {
	t.many(1500)
	fd := t.openAt(".", unix.O_RDONLY)
	var seen []dirent
	for {
		some := readSome(fd, 1500)
		if len(some) == 0 {
			break
		}
		seen = append(seen, some...)
		for _, e := range some {
			if e.name[0] != '.' {
				must(os.Remove(t.At(e.name)))
			}
		}
	}
	t.counts(seen, everything)
	left, err := namesIn(t.Dir)
	t.Note("%d left %s", len(left), errnoOf(err))
}

func addedWhileReadCase(t *Trial) {
	t.many(800)
	fd := t.openAt(".", unix.O_RDONLY)
	seen := readSome(fd, 1500)
	for i := range 800 {
		must(os.WriteFile(t.At(fmt.Sprintf("new-%d", i)), nil, 0o666))
	}
	seen = append(seen, readRest(fd, 1500)...)
	t.counts(seen, func(name string) bool { return !strings.HasPrefix(name, "new-") })
}

func renamedWhileReadCase(t *Trial) {
	t.many(800)
	must(os.Mkdir(t.At("sub"), 0o777))
	fd := t.openAt(".", unix.O_RDONLY)
	seen := readSome(fd, 1500)
	gone := make(map[string]bool)
	for _, e := range seen {
		if e.name[0] != '.' && e.name != "sub" {
			gone[e.name] = true
			must(os.Rename(t.At(e.name), t.At("sub", e.name)))
		}
	}
	seen = append(seen, readRest(fd, 1500)...)
	t.counts(seen, everything)
	t.Note("sub has all of them: %v", len(readRest(t.openAt("sub", unix.O_RDONLY), 4096)) == len(gone)+2)
}

func rewindCase(t *Trial) {
	t.many(10)
	fd := t.openAt(".", unix.O_RDONLY)
	t.Note("%d", len(readRest(fd, 4096)))
	must(os.WriteFile(t.At("later"), nil, 0o666))
	t.Note("at the end %d", len(readRest(fd, 4096)))
	_, err := unix.Seek(fd, 0, 0)
	must(err)
	t.Note("rewound %d", len(readRest(fd, 4096)))
	must(os.Remove(t.At("later")))
	_, err = unix.Seek(fd, 0, 0)
	must(err)
	t.Note("rewound again %d", len(readRest(fd, 4096)))
}

func typesCase(t *Trial) {
	t.play("-- fill f 1; mkdir d; symlink x l; mkfifo p; bind s; mknod c c 0600 1 3; mknod b b 0600 7 99")
	var out []string
	for _, e := range readRest(t.openAt(".", unix.O_RDONLY), 4096) {
		out = append(out, fmt.Sprintf("%s=%d", e.name, e.kind))
	}
	slices.Sort(out)
	t.Note("%s", strings.Join(out, " "))
}

func smallBufferCase(t *Trial) {
	must(os.WriteFile(t.At(strings.Repeat("n", 255)), nil, 0o666))
	fd := t.openAt(".", unix.O_RDONLY)
	for _, size := range []int{1, 10, 24, 40, 280, 300} {
		buf := make([]byte, size)
		n, err := unix.Getdents(fd, buf)
		t.Note("%d: some %v %s", size, n > 0, errnoOf(err))
	}
}

// everyByteCase makes a name of each byte that a name may have.
func everyByteCase(t *Trial) {
	for b := 1; b < 256; b++ {
		if b == '/' || b == '.' {
			continue
		}
		must(os.WriteFile(t.At(string([]byte{byte(b)})), []byte{byte(b)}, 0o666))
	}
	names, err := namesIn(t.Dir)
	t.Note("%d %s %s", len(names), digest([]byte(strings.Join(names, "/"))), errnoOf(err))
	for _, name := range names {
		text, err := os.ReadFile(t.At(name))
		if err != nil || string(text) != name {
			t.Note("%q: %s", name, errnoOf(err))
		}
	}
}

func randomNamesCase(t *Trial) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		name := make([]byte, 1+r.IntN(255))
		for i := range name {
			for name[i] == 0 || name[i] == '/' {
				name[i] = byte(r.IntN(256))
			}
		}
		if err := os.Mkdir(t.Dir+"/"+string(name), 0o777); err != nil {
			t.Note("%q: %s", name, errnoOf(err))
		}
	}
	names, err := namesIn(t.Dir)
	t.Note("%d %s %s", len(names), digest([]byte(strings.Join(names, "/"))), errnoOf(err))
}
