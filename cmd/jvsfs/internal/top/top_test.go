package top

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// topAt is when the screens of these tests are taken.
var topAt = time.Date(2026, 1, 2, 14, 5, 43, 0, time.Local)

func statistics(requests uint64) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"requests":{"Write":%d,"Read":1}}`, requests))
}

// topMounts are two that serve and two that do not, after n looks.
func topMounts(n uint64) []api.MountStatus {
	since := topAt.Add(-time.Hour)
	expires := topAt.Add(21 * time.Second)
	mounts := []api.MountStatus{
		{
			Mountpoint: "/srv/repo", Source: "/srv/repo", Device: "0:50", State: "serving", PID: 4711, Since: &since, Lease: 30_000,
			Statistics: statistics(n * n * 100),
			Worktrees: []gate.Status{
				{Worktree: "main", State: "held", Token: 12, HolderID: "build7:ci:4242:1183251", Purpose: "make", TimeLeftMS: 17_500, Writes: 10 * n, Refusals: 3 * n},
				{Worktree: "feature", State: "held_elsewhere", Token: 3, HolderID: "host9:ann:7:1", ExpiresAt: &expires},
				{Worktree: "idle", State: "free", Token: 8},
				{Worktree: "late", State: "held", Token: 1, HolderID: "build7:bob:99:5", TimeLeftMS: 2_100},
			},
			RecentRefusals: []api.RefusalView{
				{At: topAt.Add(-time.Second), Worktree: "main", PID: 815, Command: "vim", Op: "Open", Class: "E_LOCK_CONFLICT", Count: 3,
					Sentence: "worktree main is being written by build7:ci:4242:1183251 for make (token 12, 17.5s left unless renewed)"},
				{At: topAt.Add(-time.Minute), Worktree: "late", Op: "Mkdir", Class: "E_LOCK_CONFLICT", Count: 1, WouldRefuse: true,
					Sentence: "worktree late is being written by build7:bob:99:5"},
			},
		},
		{Mountpoint: "/srv/new", Device: "0:51", State: "serving", PID: 4800, Since: &since, Lease: 30_000, Statistics: statistics(0)},
		{Mountpoint: "/srv/old", Device: "0:52", State: "dead", Detail: "E_NO_MOUNT: the mount at /srv/old is dead: its daemon does not answer; reads and writes there fail",
			Next: "jvsfs umount --bare /srv/old (this bares the directory below), then mount again"},
		{Mountpoint: "/srv/stuck", Device: "0:53", State: "silent", Detail: "its daemon does not answer: it may be stopped", Next: client.NextOfSilent},
	}
	mounts[0].Enforce, mounts[1].Enforce = "enforce", "observe"
	return mounts
}

// sampleScreen is a screen after some looks, a second apart.
func sampleScreen(looks int, width, height int) topScreen {
	s := topScreen{Width: width, Height: height, Style: topStyle{glyphs: glyphsFor(true)}}
	for i := 1; i <= looks; i++ {
		next := newSnapshot(topAt.Add(time.Duration(i-looks)*time.Second), topMounts(uint64(i)))
		s.Rates = s.Rates.next(s.Snapshot, next)
		s.Snapshot = next
	}
	return s
}

// locksScreen has the lock files of rules in each of their states.
func locksScreen(width, height int) topScreen {
	since, until := topAt.Add(-3*time.Minute), topAt.Add(15*time.Minute)
	by := func(pid int, name string) *gate.HolderView { return &gate.HolderView{PID: pid, Purpose: name} }
	m := topMounts(1)[:1]
	m[0].Worktrees, m[0].RecentRefusals = m[0].Worktrees[:1], nil
	m[0].Rules = []tenure.View{
		{ID: "agency{repo=a}", State: tenure.StateHeld, Holder: by(4711, "agency"), Since: &since, Refusals: 2},
		{ID: "agency{repo=b}", State: tenure.StateGone, Holder: by(4712, "agency\x1b[2J"), Since: &since},
		{ID: "agency{repo=c}", State: tenure.StateFree, Refusals: 7},
		{ID: "git{r=,f=index}", State: tenure.StateUnknown, Refusals: 1},
		{ID: "jit", State: tenure.StateWindow, Holder: by(12, "maintenance"), Since: &since, Until: &until},
	}
	m[0].Windows = []tenure.WindowView{
		{Path: "jit/x", Locks: []string{"jit"}, Holder: by(12, "maintenance"), Until: until},
		{Path: "log/a", Rules: []string{"log", "made"}, Holder: by(13, "sh"), Until: until},
	}
	return topScreen{Width: width, Height: height, Style: topStyle{glyphs: glyphsFor(true)}, Snapshot: newSnapshot(topAt, m)}
}

func TestTopDrawsItsScreens(t *testing.T) {
	screens := map[string]topScreen{
		"80x24": sampleScreen(9, 80, 24), "132x40": sampleScreen(9, 132, 40), "40x12": sampleScreen(9, 40, 12),
		"first": sampleScreen(0, 80, 24), "ascii": sampleScreen(9, 80, 24), "help": sampleScreen(9, 80, 24), "filter": sampleScreen(9, 80, 24),
		"locks": locksScreen(80, 20), "narrow": locksScreen(40, 12), "lockfilter": locksScreen(80, 12),
		"colour": sampleScreen(9, 80, 24), "none": {Width: 80, Height: 6, Snapshot: snapshot{At: topAt}, Style: topStyle{glyphs: glyphsFor(true)}},
	}
	for name, s := range screens {
		switch name {
		case "ascii":
			s.Style.glyphs = glyphsFor(false)
		case "colour":
			s.Style.colour = true
		case "help":
			s.Help = true
		case "lockfilter":
			s.Filter = "gone"
		case "filter":
			s.Filter, s.Filtering, s.Sort, s.Paused = "ma", true, sortRefusals, true
		}
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".golden")
			got := topView(s) + "\n"
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// A refusal is shown with its mount and its worktree, and where its own words have the text.
func TestTopFilterKeepsTheRefusalsOfWhatItShows(t *testing.T) {
	for filter, want := range map[string][]string{
		"": {"vim", "a process"}, "/srv/repo": {"vim", "a process"}, "serving": {"vim", "a process"},
		"main": {"vim"}, "ci:4242": {"vim"}, "vim": {"vim"}, "late": {"a process"}, "mkdir": {"a process"}, "idle": {}, "/srv/new": {},
	} {
		s := sampleScreen(3, 80, 24)
		s.Filter = filter
		texts := s.refusals()
		require.Len(t, texts, len(want), "%q: %q", filter, texts)
		for i, who := range want {
			require.Contains(t, texts[i], who, filter)
		}
	}
}

func TestTopHelpFits(t *testing.T) {
	for _, line := range topHelp {
		require.LessOrEqual(t, ansi.StringWidth(line), 80)
	}
}

// Whatever the size, nothing wraps and nothing scrolls.
func TestTopFitsEverySize(t *testing.T) {
	s := sampleScreen(3, 0, 0) // the same snapshots for every size: to make them takes longer than to show them
	for width := range 150 {
		for height := range 50 {
			if (width >= 50 || height >= 25) && height%5 != width%5 {
				continue // where there is room every width and every height is tried still, and not each with each
			}
			s.Width, s.Height, s.Style.colour = width, height, height%2 == 0
			lines := strings.Split(topView(s), "\n")
			require.LessOrEqual(t, len(lines), max(height, 1), "%dx%d", width, height)
			for _, line := range lines {
				if ansi.StringWidth(line) > width { // no require: of hundreds of thousands of lines that takes longest
					t.Fatalf("%dx%d: %q", width, height, line)
				}
			}
		}
	}
}

// Names, purposes, commands and sentences come from others; none of it reaches the
// terminal as more than text.
func TestTopShowsNoControlSequences(t *testing.T) {
	const hostile = "\x1b]0;title\a\x1b[2J\r\n\x9b31m\u202ex"
	mounts := topMounts(1)
	for i := range mounts {
		m := &mounts[i]
		m.Mountpoint += hostile
		m.Detail, m.Next, m.Enforce, m.State = m.Detail+hostile, m.Next+hostile, hostile, m.State+hostile
		for j := range m.Worktrees {
			w := &m.Worktrees[j]
			w.Worktree += hostile
			w.State += hostile
			w.HolderID, w.Purpose = hostile+":"+hostile+":1:1", hostile
		}
		for j := range m.RecentRefusals {
			r := &m.RecentRefusals[j]
			r.Command, r.Op, r.Sentence = hostile, hostile, hostile
		}
	}
	mounts = append(mounts, api.MountStatus{State: "serving", Worktrees: []gate.Status{{LastRefusals: []string{"2026-01-02T03:04:05Z " + hostile}}}})
	s := sampleScreen(0, 200, 60)
	s.Snapshot = newSnapshot(topAt, mounts)
	view := topView(s)
	for _, r := range strings.ReplaceAll(view, "\n", "") {
		require.Equal(t, human.Printable(string(r)), string(r), "%q in\n%s", r, view)
	}
	require.Contains(t, view, "?]0;title??[2J")
	s.Style.colour = true
	require.NotContains(t, topView(s), "\x1b]")
	require.NotContains(t, topView(s), "\x1b[2J")
}

func TestTopDrawsTheTimeLeftAsABar(t *testing.T) {
	plain := topStyle{glyphs: glyphsFor(true)}
	for share, want := range map[float64]string{-1: "░░░░", 0: "░░░░", 0.1: "░░░░", 0.5: "██░░", 1: "████", 7: "████"} {
		require.Equal(t, want, plain.bar(share, 4), share)
	}
	colour := topStyle{colour: true, glyphs: glyphsFor(true)}
	require.Contains(t, colour.bar(0.9, 4), "\x1b[32m")
	require.Contains(t, colour.bar(0.4, 4), "\x1b[33m")
	require.Contains(t, colour.bar(0.15, 8), "31m", "near the end")
	require.Equal(t, "▁▄█", plain.sparkline([]float64{9, 0, 5, 10}, 3))
	require.Equal(t, "▁▁", plain.sparkline([]float64{0, 0}, 3))
}

func TestTopStyleFollowsTheEnvironment(t *testing.T) {
	style := func(pairs ...string) topStyle {
		env := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			env[pairs[i]] = pairs[i+1]
		}
		return styleOf(func(name string) string { return env[name] })
	}
	require.True(t, style("TERM", "xterm").colour)
	require.False(t, style("TERM", "xterm", "NO_COLOR", "1").colour)
	require.False(t, style("TERM", "dumb").colour)
	require.False(t, style().colour)
	require.Equal(t, glyphsFor(true), style("LANG", "de_DE.UTF-8").glyphs)
	require.Equal(t, glyphsFor(true), style("LANG", "C", "LC_ALL", "C.utf8").glyphs)
	require.Equal(t, glyphsFor(false), style("LANG", "C.UTF-8", "LC_ALL", "POSIX").glyphs)
}

func TestTopRates(t *testing.T) {
	s := sampleScreen(3, 80, 24)
	r := s.Rates.Mounts["/srv/repo"]
	require.InDelta(t, 500, r.Operations, 1e-9) // 900 - 400
	require.InDelta(t, 3, r.Refusals, 1e-9)
	require.Equal(t, worktreeRates{Writes: 10, Refusals: 3}, r.Worktrees["main"])
	require.Equal(t, []float64{300, 500}, s.Rates.Operations)
	require.NotContains(t, s.Rates.Mounts, "/srv/old", "a dead mount does nothing")

	restarted := topMounts(1)
	now := topAt
	restarted[0].Since = &now
	next := s.Rates.next(s.Snapshot, newSnapshot(topAt.Add(time.Second), restarted))
	require.NotContains(t, next.Mounts, "/srv/repo", "another run of the daemon counts from zero")
	for range 2 * ratesKept {
		next = next.next(s.Snapshot, s.Snapshot)
	}
	require.LessOrEqual(t, len(next.Operations), ratesKept)
}

// drive feeds messages to a model and says whether it quits.
func drive(m topModel, messages ...tea.Msg) (topModel, bool) {
	quits := false
	for _, msg := range messages {
		next, cmd := m.Update(msg)
		m = next.(topModel)
		if _, isKey := msg.(tea.KeyPressMsg); isKey && cmd != nil {
			_, quits = cmd().(tea.QuitMsg)
		}
	}
	return m, quits
}

func key(text string) tea.Msg {
	special := map[string]tea.KeyPressMsg{
		"esc": {Code: tea.KeyEscape}, "enter": {Code: tea.KeyEnter}, "backspace": {Code: tea.KeyBackspace}, "down": {Code: tea.KeyDown},
		"up": {Code: tea.KeyUp}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "space": {Code: tea.KeySpace, Text: " "},
	}
	if k, ok := special[text]; ok {
		return k
	}
	return tea.KeyPressMsg{Code: rune(text[0]), Text: text}
}

func TestTopTakesItsKeys(t *testing.T) {
	start := newTopModel(time.Second, topStyle{glyphs: glyphsFor(true)}, func() tea.Msg { return nil })
	start, _ = drive(start, tea.WindowSizeMsg{Width: 100, Height: 30}, newSnapshot(topAt, topMounts(1)))
	require.Equal(t, []int{100, 30}, []int{start.screen.Width, start.screen.Height})
	require.Contains(t, topView(start.screen), "/srv/repo")

	for _, k := range []string{"q", "ctrl+c"} {
		_, quits := drive(start, key(k))
		require.True(t, quits, k)
	}
	m, _ := drive(start, key("s"), key("r"))
	require.Equal(t, sortLeft, m.screen.Sort)
	require.True(t, m.screen.Reverse)
	m, _ = drive(start, key("s"), key("s"), key("s"), key("s"))
	require.Equal(t, sortName, m.screen.Sort, "round")

	m, quits := drive(start, key("/"), key("L"), key("q"), key("backspace"), key("ä"))
	require.False(t, quits, "q is a letter of the filter")
	require.Equal(t, "lä", m.screen.Filter)
	m, quits = drive(m, key("backspace"), key("enter"), key("q"))
	require.True(t, quits)
	require.Equal(t, "l", m.screen.Filter)
	m, _ = drive(m, key("esc"))
	require.Empty(t, m.screen.Filter)
	m, quits = drive(start, key("/"), key("ctrl+c"))
	require.True(t, quits, "also while a filter is typed")
	require.True(t, m.screen.Filtering)

	m, _ = drive(start, key("?"))
	require.Contains(t, topView(m.screen), "the other way round")
	m, _ = drive(start, key("down"), key("down"), key("up"))
	require.Equal(t, 1, m.screen.Offset)
	for range 100 {
		m, _ = drive(m, key("down"))
	}
	require.Less(t, m.screen.Offset, 30, "it ends with the list")
}

func TestTopShowsNothingNewWhilePaused(t *testing.T) {
	looked := 0
	m := newTopModel(time.Millisecond, topStyle{}, func() tea.Msg { looked++; return nil })
	m, _ = drive(m, newSnapshot(topAt, topMounts(1)), key("p"), newSnapshot(topAt.Add(time.Second), nil))
	require.Equal(t, topAt, m.screen.Snapshot.At, "what came in is left alone")
	require.Contains(t, topView(m.screen), "PAUSED")
	_, cmd := m.Update(lookAgain{})
	require.Equal(t, lookAgain{}, cmd(), "asks again later whether to go on")
	require.Zero(t, looked)
	m, _ = drive(m, key("space"))
	_, cmd = m.Update(lookAgain{})
	cmd()
	require.Equal(t, 1, looked)

	m, _ = drive(m, lookFailed{errors.New("no /proc\x1b[2J")})
	require.Contains(t, topView(m.screen), "no /proc?[2J")
}

func TestTopSortsByTheChosenColumn(t *testing.T) {
	s := sampleScreen(3, 80, 24)
	order := func(by topSort) (names []string) {
		s.Sort = by
		for _, r := range s.rows(s.Snapshot.Mounts[0]) {
			names = append(names, string(r.Worktree))
		}
		return names
	}
	require.Equal(t, []string{"feature", "idle", "late", "main"}, order(sortName))
	require.Equal(t, []string{"late", "main", "feature", "idle"}, order(sortLeft), "who runs out first; the free last")
	require.Equal(t, "main", order(sortWrites)[0])
	require.Equal(t, "main", order(sortRefusals)[0])
	s.Reverse = true
	require.Equal(t, []string{"main", "late", "idle", "feature"}, order(sortName))
}
