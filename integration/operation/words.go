package operation

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lines reads commands between semicolons. A mistake in them is one of the test's own text, so it panics.
func Lines(text string) (all []Command) {
	for one := range strings.SplitSeq(text, ";") {
		if words := strings.Fields(one); len(words) > 0 {
			all = append(all, Line(words))
		}
	}
	return all
}

// Line reads one command: the name of an operation, and its arguments as the table has them. A kind with "=" has a
// value for where the word is left out. Words may hold <nN>, a name of N bytes, and <pN:NAME>, a path of N bytes to
// NAME; ” is the empty word.
func Line(words []string) Command {
	c, o := Command{Op: words[0]}, table[words[0]]
	if o.call == nil {
		panic("no command " + c.Op)
	}
	rest := words[1:]
	for _, kind := range strings.Fields(o.words) {
		kind, value, optional := strings.Cut(kind, "=")
		if kind == "args" {
			for _, w := range rest {
				c.Args = append(c.Args, expand(w))
			}
			rest = nil
			continue
		}
		keeps := strings.HasPrefix(kind, "keep") // "=HANDLE", or nothing
		switch {
		case len(rest) > 0 && (keeps == (rest[0][0] == '=') || !keeps && !optional):
			value, rest = expand(rest[0]), rest[1:]
		case !optional && !keeps:
			panic("no " + kind + " in " + strings.Join(words, " "))
		}
		kinds[kind](&c, value)
	}
	if len(rest) > 0 {
		panic("too many words: " + strings.Join(words, " "))
	}
	return c
}

// kinds are what an argument can be: what it does to the command.
var kinds = map[string]func(c *Command, w string){
	"path":   func(c *Command, w string) { c.Path = w },
	"to":     func(c *Command, w string) { c.To = w },
	"handle": func(c *Command, w string) { c.Handle = w },
	"keep":   func(c *Command, w string) { c.Handle = strings.TrimPrefix(w, "=") }, // where the new handle goes
	"other":  func(c *Command, w string) { c.Name = w },
	"keepas": func(c *Command, w string) { c.Name = strings.TrimPrefix(w, "=") }, // the same, beside another handle
	"name":   func(c *Command, w string) { c.Name = w },
	"mode":   func(c *Command, w string) { c.Mode |= octal(w) },
	"node":   func(c *Command, w string) { c.Mode |= uint32(bits(nodes, w)) },
	"major":  func(c *Command, w string) { c.Len = int64(unix.Mkdev(uint32(number(w)), 0)) },
	"minor":  func(c *Command, w string) { c.Len |= int64(unix.Mkdev(0, uint32(number(w)))) },
	"uid":    func(c *Command, w string) { c.UID = int(number(w)) },
	"gid":    func(c *Command, w string) { c.GID = int(number(w)) },
	"off":    func(c *Command, w string) { c.Off = number(w) },
	"from":   func(c *Command, w string) { c.From = number(w) },
	"len":    func(c *Command, w string) { c.Len = number(w) },
	"time":   func(c *Command, w string) { c.Times = append(c.Times, timeOf(w)) },
	"data":   func(c *Command, w string) { c.Data = dataOf(c.Op, w) },
	"value":  func(c *Command, w string) { c.Data = valueOf(w) },
	"acl":    func(c *Command, w string) { c.Data = aclOf(w) },
	"aclof": func(c *Command, w string) {
		c.Name = map[string]string{"access": "system.posix_acl_access", "default": "system.posix_acl_default"}[w]
	},
	"open":   func(c *Command, w string) { c.Flags = bits(openFlags, w) },
	"rename": func(c *Command, w string) { c.Flags = bits(renameFlags, w) },
	"xattr":  func(c *Command, w string) { c.Flags = bits(xattrFlags, w) },
	"falloc": func(c *Command, w string) { c.Flags = bits(fallocFlags, w) },
	"rwf":    func(c *Command, w string) { c.Flags = bits(rwfFlags, w) },
	"whence": func(c *Command, w string) { c.Flags = bits(whences, w) },
	"inode":  func(c *Command, w string) { c.Flags = bits(inodeFlags, w) },
	"access": func(c *Command, w string) { c.Flags = bits(accessModes, w) },
	"share":  func(c *Command, w string) { c.Flags = bits(shares, w) },
}

var (
	nodes     = map[string]int{"f": unix.S_IFREG, "p": unix.S_IFIFO, "s": unix.S_IFSOCK, "c": unix.S_IFCHR, "b": unix.S_IFBLK, "d": unix.S_IFDIR, "0": 0}
	openFlags = map[string]int{
		"ro": unix.O_RDONLY, "wo": unix.O_WRONLY, "rw": unix.O_RDWR, "acc3": 3, "creat": unix.O_CREAT, "excl": unix.O_EXCL,
		"trunc": unix.O_TRUNC, "append": unix.O_APPEND, "dir": unix.O_DIRECTORY, "nofollow": unix.O_NOFOLLOW,
		"path": unix.O_PATH, "tmp": unix.O_TMPFILE, "noatime": unix.O_NOATIME, "direct": unix.O_DIRECT,
		"sync": unix.O_SYNC, "dsync": unix.O_DSYNC, "nonblock": unix.O_NONBLOCK, "async": unix.O_ASYNC,
	}
	renameFlags = map[string]int{
		"0": 0, "noreplace": unix.RENAME_NOREPLACE, "exchange": unix.RENAME_EXCHANGE, "whiteout": unix.RENAME_WHITEOUT, "bad": 1 << 10,
	}
	xattrFlags  = map[string]int{"0": 0, "create": unix.XATTR_CREATE, "replace": unix.XATTR_REPLACE, "bad": 1 << 8}
	fallocFlags = map[string]int{
		"0": 0, "keep": unix.FALLOC_FL_KEEP_SIZE, "punch": unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE,
		"zero": unix.FALLOC_FL_ZERO_RANGE, "zerokeep": unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE,
		"collapse": unix.FALLOC_FL_COLLAPSE_RANGE, "insert": unix.FALLOC_FL_INSERT_RANGE, "unshare": unix.FALLOC_FL_UNSHARE_RANGE,
		"punchgrow": unix.FALLOC_FL_PUNCH_HOLE,
	}
	rwfFlags    = map[string]int{"0": 0, "append": unix.RWF_APPEND, "dsync": unix.RWF_DSYNC}
	whences     = map[string]int{"set": unix.SEEK_SET, "cur": unix.SEEK_CUR, "end": unix.SEEK_END, "data": unix.SEEK_DATA, "hole": unix.SEEK_HOLE}
	inodeFlags  = map[string]int{"+i": flagImmutable, "+a": flagAppend, "+d": flagNoDump, "-": 0}
	accessModes = map[string]int{"f": unix.F_OK, "r": unix.R_OK, "w": unix.W_OK, "x": unix.X_OK, "rw": unix.R_OK | unix.W_OK, "rwx": 7}
	shares      = map[string]int{"shared": unix.MAP_SHARED, "private": unix.MAP_PRIVATE}
)

func bits(names map[string]int, list string) (all int) {
	for name := range strings.SplitSeq(list, ",") {
		one, known := names[name]
		if !known {
			panic("no flag " + name)
		}
		all |= one
	}
	return all
}

func octal(s string) uint32 {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// timeOf is "now", "omit" or SECONDS[.NANOSECONDS].
func timeOf(s string) unix.Timespec {
	switch s {
	case "now":
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	case "omit":
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	sec, nsec, _ := strings.Cut(s, ".")
	ts := unix.Timespec{Sec: number(sec)}
	if nsec != "" {
		n, err := strconv.ParseInt(nsec, 10, 64)
		if err != nil {
			panic(err)
		}
		ts.Nsec = n
	}
	return ts
}

// dataOf is a word as it stands, or so many bytes. Those of different operations differ, so that one shows over the other.
func dataOf(op, w string) []byte {
	n, err := strconv.Atoi(w)
	if err != nil {
		return []byte(w)
	}
	seed := 0
	for _, letter := range []byte(op) {
		seed += int(letter)
	}
	return Pattern(n, seed)
}

// Pattern is data in which each piece differs from the next.
func Pattern(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// valueOf is a value as it stands, or as bytes after 0x.
func valueOf(s string) []byte {
	if rest, is := strings.CutPrefix(s, "0x"); is {
		b, err := hex.DecodeString(rest)
		if err != nil {
			panic(err)
		}
		return b
	}
	return []byte(s)
}

var aclTags = map[string]uint16{"u": 1, "U": 2, "g": 4, "G": 8, "m": 16, "o": 32}

// aclOf makes an ACL of "u:6,U1001:4,g:4,G2000:6,m:6,o:0", in the order the kernel
// wants: owner, users, group, groups, mask, others.
func aclOf(s string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for one := range strings.SplitSeq(s, ",") {
		who, perm, _ := strings.Cut(one, ":")
		id := uint32(0xffffffff)
		if len(who) > 1 {
			id = uint32(number(who[1:]))
		}
		b = binary.LittleEndian.AppendUint16(b, aclTags[who[:1]])
		b = binary.LittleEndian.AppendUint16(b, uint16(number(perm)))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}

// expand replaces <nN> and <pN:NAME>, and undoes the quotes of an empty word.
func expand(w string) string {
	if w == "''" {
		return ""
	}
	for {
		at := strings.IndexByte(w, '<')
		end := strings.IndexByte(w, '>')
		if at < 0 || end < at {
			return w
		}
		w = w[:at] + pad(w[at+1:end]) + w[end+1:]
	}
}

func pad(what string) string {
	size, name, _ := strings.Cut(what[1:], ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		panic(fmt.Errorf("in <%s>: %w", what, err))
	}
	if what[0] == 'n' {
		return strings.Repeat("n", n)
	}
	left := n - len(name)
	return strings.Repeat("./", left/2-left%2) + strings.Repeat(".//", left%2) + name
}
