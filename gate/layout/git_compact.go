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
	ref := " " + headsPrefix + branch
	for line := range bytes.Lines(packed) {
		if value, ok := strings.CutSuffix(strings.TrimRight(string(line), "\n"), ref); ok && !strings.HasPrefix(value, "#") {
			return value
		}
	}
	return ""
}
