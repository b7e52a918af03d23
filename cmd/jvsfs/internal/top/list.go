package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

// topSort is the order of the worktrees of a mount.
type topSort int

const (
	sortName topSort = iota
	sortLeft
	sortWrites
	sortRefusals
	topSorts
)

var topSortNames = [topSorts]string{"name", "time left", "writes", "refusals"}

// topRow is one worktree in the list.
type topRow struct {
	gate.Status
	rates    worktreeRates
	known    bool // the rates are
	left     time.Duration
	duration time.Duration // of a lease
}

// topColumn is a column of the list. A column without a width takes the remaining space.
type topColumn struct {
	title string
	width int
	right bool // aligned to the right
	needs int  // the screen is at least this wide, or the column is left out
	cell  func(topScreen, topRow, int) string
}

var topColumns = []topColumn{
	{"WORKTREE", 14, false, 0, func(_ topScreen, r topRow, _ int) string { return string(r.Worktree) }},
	{"STATE", 10, false, 43, func(s topScreen, r topRow, _ int) string { return s.stateText(r.State) }},
	{"TOKEN", 6, true, 64, func(_ topScreen, r topRow, _ int) string { return fmt.Sprint(r.Token) }},
	{"LEFT", 15, false, 32, func(s topScreen, r topRow, n int) string { return s.leftText(r, n) }},
	{"HOLDER", 0, false, 56, func(_ topScreen, r topRow, n int) string { return holderCell(r.Status, n) }},
	{"WRITES/s", 8, true, 72, func(_ topScreen, r topRow, _ int) string { return r.rate(r.rates.Writes) }},
	{"REFUSED/s", 9, true, 80, func(_ topScreen, r topRow, _ int) string { return r.rate(r.rates.Refusals) }},
	{"REFUSED", 8, true, 100, func(_ topScreen, r topRow, _ int) string { return fmt.Sprint(r.Refusals + r.WouldRefuse) }},
}

// columns are those that fit, with their widths.
func (s topScreen) columns() []topColumn {
	var out []topColumn
	left := s.Width
	for _, c := range topColumns {
		if s.Width >= c.needs {
			out = append(out, c)
			left -= c.width + 1
		}
	}
	for i := range out {
		if out[i].width == 0 {
			out[i].width = max(left, 6)
		}
	}
	return out
}

// line puts cells under each other.
func (s topScreen) line(cell func(topColumn) string) string {
	var b strings.Builder
	for _, c := range s.columns() {
		text := ansi.Truncate(cell(c), c.width, s.Style.glyphs.ellipsis)
		gap := strings.Repeat(" ", c.width-ansi.StringWidth(text))
		if c.right {
			text = gap + text
		} else {
			text += gap
		}
		b.WriteString(" " + text)
	}
	return b.String()
}

func (s topScreen) headLine() string {
	return s.line(func(c topColumn) string { return c.title })
}

// listLines are all mounts with their worktrees.
func (s topScreen) listLines() []string {
	var lines []string
	for _, m := range s.Snapshot.Mounts {
		rows, locks := s.rows(m), s.lockLines(m)
		if len(rows)+len(locks) == 0 && s.Filter != "" && !s.shows(m.Mountpoint, m.Source, m.State) {
			continue
		}
		lines = append(lines, s.mountLine(m))
		lines = append(lines, s.troubleLines(m)...)
		for _, r := range rows {
			lines = append(lines, s.line(func(c topColumn) string { return c.cell(s, r, c.width) }))
		}
		lines = append(lines, locks...)
	}
	switch {
	case len(lines) > 0:
		return lines
	case s.Snapshot.At.IsZero():
		return []string{"asking the daemons" + s.Style.glyphs.ellipsis}
	case s.Filter != "":
		return []string{"nothing has this text; Esc drops the filter"}
	}
	return []string{"no jvsfs mounts"}
}

// shows reports whether the filter matches one of the texts.
func (s topScreen) shows(texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), s.Filter) })
}

func (s topScreen) mountLine(m api.MountStatus) string {
	line := s.Style.paint(paintTitle, m.Mountpoint) + "  " + s.stateText(m.State)
	if m.Enforce != "" && m.Enforce != "enforce" {
		line += "  " + s.Style.paint(paintWarn, string(m.Enforce))
	}
	if m.PID != 0 {
		line += fmt.Sprintf("  pid %d", m.PID)
	}
	if r, known := s.Rates.Mounts[m.Mountpoint]; known {
		line += fmt.Sprintf("  %s operations/s  %s refused/s", rateText(r.Operations), rateText(r.Refusals))
	}
	return line
}

// troubleLines say what is wrong with a mount that does not serve, and what to do.
func (s topScreen) troubleLines(m api.MountStatus) []string {
	var lines []string
	next := ""
	if m.Next != "" {
		next = "next: " + m.Next
	}
	for _, text := range []string{m.Detail, next} {
		if text == "" {
			continue
		}
		for _, line := range strings.Split(ansi.Wrap(text, max(s.Width-3, 10), ""), "\n") {
			lines = append(lines, "   "+s.Style.paint(paintBad, line))
		}
	}
	if m.State == "serving" && len(m.Worktrees) == 0 {
		lines = append(lines, "   nothing has been written yet")
	}
	return lines
}

// rows are the worktrees of a mount that the filter shows, sorted.
func (s topScreen) rows(m api.MountStatus) []topRow {
	var rows []topRow
	known := s.Rates.Mounts[m.Mountpoint].Worktrees
	for _, w := range m.Worktrees {
		if s.Filter != "" && !s.shows(m.Mountpoint, string(w.Worktree), w.State, w.HolderID, w.Purpose) {
			continue
		}
		r := topRow{Status: w, duration: time.Duration(m.Lease) * time.Millisecond}
		r.rates, r.known = known[w.Worktree]
		r.left = api.LeaseLeft(w, s.Snapshot.At)
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b topRow) int {
		order := s.compare(a, b)
		if s.Reverse {
			return -order
		}
		return order
	})
	return rows
}

// compare puts first what needs attention: the shortest time, the most writes.
func (s topScreen) compare(a, b topRow) int {
	order := 0
	switch s.Sort {
	case sortLeft:
		order = cmp.Or(-compareBool(a.left > 0, b.left > 0), cmp.Compare(a.left, b.left))
	case sortWrites:
		order = cmp.Or(cmp.Compare(b.rates.Writes, a.rates.Writes), cmp.Compare(b.Writes, a.Writes))
	case sortRefusals:
		order = cmp.Or(cmp.Compare(b.rates.Refusals, a.rates.Refusals), cmp.Compare(b.Refusals+b.WouldRefuse, a.Refusals+a.WouldRefuse))
	}
	return cmp.Or(order, cmp.Compare(a.Worktree, b.Worktree))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (r topRow) rate(v float64) string {
	if !r.known {
		return "-"
	}
	return rateText(v)
}

// stateText is a state in its colour.
func (s topScreen) stateText(state string) string {
	switch state {
	case "serving", "free":
		return state
	case api.StateHeld:
		return s.Style.paint(paintGood, state)
	case "held_elsewhere":
		return s.Style.paint(paintWarn, "elsewhere")
	case "dead", "silent", "forbidden", "unreadable", "skewed", "closed", "gone":
		return s.Style.paint(paintBad, state)
	}
	return s.Style.paint(paintWarn, state)
}

// leftText is the time left as a bar and in seconds.
func (s topScreen) leftText(r topRow, width int) string {
	if r.left <= 0 {
		return "-"
	}
	text := fmt.Sprintf("%6s", human.Span(r.left))
	share := 0.0
	if r.duration > 0 {
		share = float64(r.left) / float64(r.duration)
	}
	return s.Style.bar(share, max(width-len(text)-1, 0)) + " " + text
}

// holderCell names the holder in n characters: user, process and purpose, and the host if there is room.
func holderCell(w gate.Status, n int) string {
	if w.HolderID == "" {
		return "-"
	}
	who := w.HolderID
	if parts := strings.Split(who, ":"); len(parts) >= 4 && n < 40 {
		who = parts[len(parts)-3] + ":" + parts[len(parts)-2]
	}
	if w.Purpose != "" {
		who += " (" + w.Purpose + ")"
	}
	return who
}
