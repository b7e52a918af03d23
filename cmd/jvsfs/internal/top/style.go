package top

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// topStyle is what the terminal can show.
type topStyle struct {
	colour bool
	glyphs glyphs
}

// glyphs are the characters of bars and sparklines.
type glyphs struct {
	full, empty string
	spark       []string // growing
	ellipsis    string
	times       string
}

func glyphsFor(unicode bool) glyphs {
	if unicode {
		return glyphs{"█", "░", strings.Split("▁▂▃▄▅▆▇█", ""), "…", "×"}
	}
	return glyphs{"#", ".", strings.Split("_.-=+*#%", ""), "~", "x"}
}

// The roles of text. Colours are the terminal's own sixteen, so that they suit its
// background.
var (
	paintTitle = lipgloss.NewStyle().Bold(true)
	paintHead  = lipgloss.NewStyle().Reverse(true)
	paintDim   = lipgloss.NewStyle().Faint(true)
	paintGood  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	paintWarn  = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
	paintBad   = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
)

// paint gives a text of one line its role.
func (s topStyle) paint(role lipgloss.Style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return role.Render(text)
}

// A bar turns colour below these shares of a lease.
const (
	shareWarn = 0.5 // most leases are renewed before
	shareBad  = 0.2
)

// bar shows a share from 0 to 1 with n characters.
func (s topStyle) bar(share float64, n int) string {
	share = min(max(share, 0), 1)
	full := int(share*float64(n) + 0.5)
	role := paintGood
	switch {
	case share < shareBad:
		role = paintBad
	case share < shareWarn:
		role = paintWarn
	}
	return s.paint(role, strings.Repeat(s.glyphs.full, full)) + s.paint(paintDim, strings.Repeat(s.glyphs.empty, n-full))
}

// sparkline shows the latest n values, the largest of them at full height.
func (s topStyle) sparkline(values []float64, n int) string {
	values = values[max(0, len(values)-n):]
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if top > 0 {
			level = int(v / top * float64(len(s.glyphs.spark)-1))
		}
		b.WriteString(s.glyphs.spark[level])
	}
	return b.String()
}
