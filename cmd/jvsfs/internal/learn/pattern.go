package learn

import (
	"slices"
	"strings"
	"unicode"
)

// literal is a name as a pattern: what means something in patterns, or cannot stand there, is any one character.
func literal(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}\`, r) || unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, name)
}

// place is a pattern for directories, with the slash behind it, and the same with wildcards in place of captures.
func place(dirs []string) (captured, wild string) {
	var split [][]string
	for _, d := range dirs {
		if d == "." {
			d = ""
		}
		split = append(split, strings.FieldsFunc(d, func(r rune) bool { return r == '/' }))
	}
	if at, ok := oneDiffers(split); ok {
		c := slices.Clone(split[0])
		for i := range c {
			c[i] = literal(c[i])
		}
		w := slices.Clone(c)
		if at >= 0 {
			c[at], w[at] = "{x}", "*"
		}
		return joined(c), joined(w)
	}
	same := 0
	for same < len(split[0]) && !slices.ContainsFunc(split, func(s []string) bool { return len(s) <= same || s[same] != split[0][same] }) {
		same++
	}
	first := literal(joined(split[0][:same]))
	return first + "{dir...}/", first + "**/"
}

func joined(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "/") + "/"
}

// oneDiffers reports whether directories are the same but for one component, and which; -1 for none.
func oneDiffers(split [][]string) (at int, ok bool) {
	at = -1
	for _, s := range split {
		if len(s) != len(split[0]) {
			return 0, false
		}
		for i := range s {
			if s[i] != split[0][i] {
				if at >= 0 && at != i {
					return 0, false
				}
				at = i
			}
		}
	}
	return at, true
}
