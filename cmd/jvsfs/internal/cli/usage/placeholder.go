package usage

import "strings"

// Placeholder is the word for argument n (from 0) in a usage line, without brackets and dots. If the last word
// has dots, it stands for all further arguments.
func Placeholder(use string, n int) string {
	words := placeholders(use)
	if len(words) == 0 {
		return ""
	}
	if last := len(words) - 1; n > last {
		if !strings.Contains(words[last], "...") {
			return ""
		}
		n = last
	}
	return strings.Trim(words[n], "[].")
}

// placeholders are the words of a usage line for arguments, as they stand there. Flags do not count.
func placeholders(use string) []string {
	words := strings.Fields(use)[1:]
	for i, w := range words {
		if w = strings.TrimLeft(w, "["); strings.HasPrefix(w, "--") && w != "--" {
			return words[:i]
		}
	}
	return words
}
