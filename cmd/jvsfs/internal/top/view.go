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
)

// topScreen has everything that a screen of top shows.
type topScreen struct {
	Snapshot snapshot
	Rates    rates
	Failed   string // why the last look failed

	Width, Height int
	Style         topStyle

	Sort      topSort
	Reverse   bool
	Filter    string // lower case
	Filtering bool   // the filter is being typed
	Paused    bool
	Help      bool
	Offset    int // first line of the list
}

// topView draws a screen of at most Height lines and Width columns. It depends on its argument only.
func topView(s topScreen) string {
	head := []string{s.titleLine(), s.rateLine(), s.Style.paint(paintHead, pad(s.headLine(), s.Width))}
	foot := []string{s.footLine()}
	if s.Help {
		return s.fit(append(append(head[:1:1], topHelp...), foot...))
	}
	room := s.Height - len(head) - len(foot)
	list := s.listLines()
	refusals := s.refusalLines(min(room/2, max(room-len(list), room/3)))
	return s.fit(slices.Concat(head, s.window(list, room-len(refusals)), refusals, foot))
}

// fit cuts what does not fit.
func (s topScreen) fit(lines []string) string {
	lines = lines[:min(len(lines), max(s.Height, 0))]
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.Width, "")
	}
	return strings.Join(lines, "\n")
}

// window is the visible part of the list, filled up to height lines.
func (s topScreen) window(list []string, height int) []string {
	if height <= 0 {
		return nil
	}
	from := min(s.Offset, max(len(list)-1, 0))
	rest := list[from:]
	if len(rest) > height {
		left := len(rest) - height + 1
		rest = append(rest[:height-1:height-1], s.Style.paint(paintDim, fmt.Sprintf("  %d more lines: scroll with the arrows", left)))
	}
	return append(rest[:len(rest):len(rest)], make([]string, height-len(rest))...)
}

func (s topScreen) titleLine() string {
	worktrees, held, bad := 0, 0, 0
	for _, m := range s.Snapshot.Mounts {
		if m.State != "serving" {
			bad++
		}
		for _, w := range m.Worktrees {
			worktrees++
			if w.State == api.StateHeld {
				held++
			}
		}
	}
	title := s.Style.paint(paintTitle, "jvsfs top") + fmt.Sprintf("  %s  %s, %d held", count(len(s.Snapshot.Mounts), "mount"), count(worktrees, "worktree"), held)
	if bad > 0 {
		title += "  " + s.Style.paint(paintBad, fmt.Sprintf("%d not serving", bad))
	}
	now := ""
	if !s.Snapshot.At.IsZero() {
		now = human.Clock(s.Snapshot.At)
	}
	if s.Paused {
		now = s.Style.paint(paintWarn, "PAUSED") + "  " + now
	}
	return spread(title, now, s.Width)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// rateLine shows the rates of the whole machine, now and before.
func (s topScreen) rateLine() string {
	if s.Failed != "" {
		return s.Style.paint(paintBad, s.Failed)
	}
	spark := max(min((s.Width-44)/2, ratesKept), 0)
	one := func(what string, values []float64) string {
		if len(values) == 0 {
			return fmt.Sprintf("%s %6s", what, "-")
		}
		return fmt.Sprintf("%s %6s %s", what, rateText(values[len(values)-1]), s.Style.sparkline(values, spark))
	}
	return one("operations/s", s.Rates.Operations) + "  " + one("refused/s", s.Rates.Refusals)
}

// rateText is a rate in at most six characters.
func rateText(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 1e5:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 10 || v == 0:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func (s topScreen) footLine() string {
	if s.Filtering {
		return "filter: " + s.Filter + "_  (Enter keeps it, Esc drops it)"
	}
	direction := ""
	if s.Reverse {
		direction = ", reversed"
	}
	foot := fmt.Sprintf("q quit  s sort (%s%s)  / filter  p pause  ? help", topSortNames[s.Sort], direction)
	if s.Filter != "" {
		foot += "  showing: " + s.Filter
	}
	return s.Style.paint(paintDim, foot)
}

var topHelp = []string{
	"",
	"  q, Ctrl-C     quit",
	"  s             sort by name, time left, writes, refusals",
	"  r             the other way round",
	"  /             show only mounts, worktrees, locks, holders, states with it",
	"  Esc           drop the filter",
	"  p, space      pause and go on",
	"  arrows, j k   scroll; page up and down; g to the top",
	"  ?             this",
	"",
	"  LEFT is the time until the lease ends unless renewed, as a share of a lease.",
	"  A mount that does not serve is shown with the way out.",
}

// refusalLines are the last refusals as sentences, the newest first, with a title; at
// most height lines.
func (s topScreen) refusalLines(height int) []string {
	if height < 2 {
		return nil
	}
	lines := []string{s.Style.paint(paintTitle, "last refusals")}
	for _, r := range s.refusals() {
		text := ansi.Wrap(r, max(s.Width-2, 10), "")
		for i, line := range strings.Split(text, "\n") {
			lines = append(lines, []string{"", "  "}[min(i, 1)]+line)
		}
	}
	if len(lines) == 1 {
		lines = append(lines, s.Style.paint(paintDim, "none"))
	}
	return lines[:min(len(lines), height)]
}

// refusals are those of all mounts that the filter shows.
func (s topScreen) refusals() []string {
	type said struct {
		at   time.Time
		text string
	}
	var all []said
	for _, m := range s.Snapshot.Mounts {
		shown := s.worktreesShown(m)
		for _, r := range m.RecentRefusals {
			if text := s.refusalText(r); shown(r.Worktree) || s.shows(text) {
				all = append(all, said{r.At, text})
			}
		}
		if len(m.RecentRefusals) > 0 {
			continue
		}
		for _, w := range m.Worktrees { // of a daemon that does not tell more
			for _, line := range w.LastRefusals {
				stamp, sentence, _ := strings.Cut(line, " ")
				if at, err := time.Parse(time.RFC3339, stamp); err == nil && (shown(string(w.Worktree)) || s.shows(line)) {
					all = append(all, said{at, human.Clock(at) + " " + sentence})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return b.at.Compare(a.at) })
	var texts []string
	for _, r := range all {
		texts = append(texts, r.text)
	}
	return slices.Compact(texts)
}

// worktreesShown tells which worktrees of a mount the filter shows: their refusals are shown, too, whatever
// words they have.
func (s topScreen) worktreesShown(m api.MountStatus) func(string) bool {
	all, rows := s.shows(m.Mountpoint, m.Source, m.State), s.rows(m)
	return func(worktree string) bool {
		return all || slices.ContainsFunc(rows, func(r topRow) bool { return string(r.Worktree) == worktree })
	}
}

func (s topScreen) refusalText(r api.RefusalView) string {
	text := human.Clock(r.At) + " " + cmp.Or(r.Command, "a process")
	if r.PID != 0 {
		text += fmt.Sprintf(" (pid %d)", r.PID)
	}
	text += ": " + r.Op
	if r.WouldRefuse {
		text += " would be refused"
	} else {
		text += " refused"
	}
	if r.Count > 1 {
		text += fmt.Sprintf(" %s%d", s.Style.glyphs.times, r.Count)
	}
	return text + ": " + r.Sentence
}

// pad fills a line up with spaces.
func pad(line string, width int) string {
	return line + strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
}

// spread puts two texts at the ends of a line. The left one is cut if there is too little room.
func spread(left, right string, width int) string {
	room := width - ansi.StringWidth(right)
	if room < 1 {
		return left
	}
	return pad(ansi.Truncate(left, room-1, ""), room) + right
}
