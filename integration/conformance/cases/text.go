package cases

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Printable keeps an outcome to one line of valid text.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n <= 1 || r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, "\\x%02x", s[0])
			s = s[1:]
			continue
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// Matches reports whether name matches a pattern in which * stands for anything.
func Matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	for name = name[len(first):]; ; name = name[1:] {
		if Matches(rest, name) {
			return true
		}
		if name == "" {
			return false
		}
	}
}

// Topic is what a case is about: the first part of its name.
func Topic(name string) string {
	topic, _, _ := strings.Cut(name, "/")
	return topic
}
