package fenceagent

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
)

// mostTail bounds what is kept of an agent's output. It may write as much as it likes.
const mostTail = 4 << 10

// tail keeps the end of what is written. Safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.end = append(t.end, p[max(0, len(p)-mostTail):]...)
	t.end = append(t.end[:0], t.end[max(0, len(t.end)-mostTail):]...)
	return n, nil
}

// last is the last line that says something, for people.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.ToValidUTF8(t.end, []byte("?")), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		text := strings.TrimSpace(strings.Map(printed, string(lines[i])))
		if r := []rune(text); len(r) > 200 {
			text = string(r[:200]) + "…"
		}
		if text != "" {
			return text
		}
	}
	return ""
}

func printed(c rune) rune {
	if !unicode.IsPrint(c) {
		return ' '
	}
	return c
}
