package gate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jvsfs/jvsfs/gate/process"
)

const (
	commandShown = 32  // bytes; the kernel's names are shorter
	wroteShown   = 160 // bytes of a path
)

// origin says which process a lease was taken for by writing, and what it wrote. It is the purpose of the lease, so
// it is read on other hosts and by older releases: "held for make (pid 70), which wrote src/x".
func (g *Guard) origin(r Request, id process.Identity) string {
	if id.PID == 0 {
		return ""
	}
	st, err := process.ReadStat(id.PID)
	if err != nil || st.Start != id.Start { // it was killed
		return ""
	}
	text := fmt.Sprintf("%s (pid %d)", shown(st.Comm, commandShown), id.PID)
	if g.cfg.Wrote == nil || r.Node == 0 {
		return text
	}
	if path := g.cfg.Wrote(r.Node, r.Name); path != "" {
		text += ", which wrote " + shown(path, wroteShown)
	}
	return text
}

// shown makes text that a user chose safe to be shown, and short: its end says more than its beginning.
func shown(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !strconv.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
	if len(s) <= most {
		return s
	}
	for s = s[len(s)-most:]; !utf8.RuneStart(s[0]); s = s[1:] {
	}
	return "…" + s
}
