package layout

import (
	"bytes"
	"strings"
)

// git gc works on the refs and logs of all checkouts. It never changes what they say: it moves the
// values of refs into packed-refs, and drops old lines of logs. That is told by the content, so that
// every checkout can be tidied by any of them, and none can be changed.

// OnlyExpires reports whether a log became another one by losing lines (git reflog expire). git ends a
// line without a message with or without a tab.
func OnlyExpires(was, is []byte) bool {
	for line := range bytes.Lines(is) {
		for {
			var first []byte
			i := bytes.IndexByte(was, '\n')
			if i < 0 {
				return false
			}
			first, was = was[:i+1], was[i+1:]
			if bytes.Equal(bytes.TrimRight(first, "\t\n"), bytes.TrimRight(line, "\t\n")) {
				break
			}
		}
	}
	return true
}

// PackedBranch finds the value of a branch in packed-refs; "" if it has none there.
func PackedBranch(packed []byte, branch string) string {
	end := []byte(" " + headsPrefix + branch + "\n")
	for rest := packed; ; {
		i := bytes.Index(rest, end)
		if i < 0 {
			return ""
		}
		line := rest[bytes.LastIndexByte(rest[:i], '\n')+1 : i]
		if isHash(line) {
			return string(line)
		}
		rest = rest[i+len(end):]
	}
}

// IsValue reports whether the file of a ref holds the name of an object, as git writes it.
func IsValue(loose string) bool { return isHash([]byte(strings.TrimSuffix(loose, "\n"))) }

// Canonical reports whether packed-refs is as git writes it: in ascending order, each ref once. git
// searches it by halves. In one that is not so it may find another value than PackedBranch.
func Canonical(packed []byte) bool {
	var last []byte
	for i := 0; len(packed) > 0; i++ {
		line, rest, ended := bytes.Cut(packed, []byte("\n"))
		packed = rest
		hash, ref, isRef := bytes.Cut(line, []byte(" "))
		switch {
		case !ended:
			return false
		case i == 0 && bytes.HasPrefix(line, []byte("# pack-refs with:")):
		case len(line) > 0 && line[0] == '^' && isHash(line[1:]) && last != nil:
		case isRef && isHash(hash) && bytes.Compare(last, ref) < 0 && !bytes.ContainsAny(ref, " \t\r\x00"):
			last = ref
		default:
			return false
		}
	}
	return true
}

func isHash(text []byte) bool {
	return (len(text) == 40 || len(text) == 64) && len(bytes.Trim(text, hexDigits)) == 0
}
