package top

import (
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// topModel is the state of top, in the form of bubbletea: Update makes the next one from a message, View draws
// it.
type topModel struct {
	screen topScreen
	every  time.Duration
	look   tea.Cmd // asks the daemons: a snapshot, or lookFailed
}

// lookFailed is a look that failed.
type lookFailed struct{ err error }

// lookAgain is the time for the next look.
type lookAgain struct{}

func newTopModel(every time.Duration, style topStyle, look tea.Cmd) topModel {
	return topModel{every: every, look: look, screen: topScreen{Width: 80, Height: 24, Style: style}}
}

// Init is tea.Model's.
func (m topModel) Init() tea.Cmd { return m.look }

// View is tea.Model's.
func (m topModel) View() tea.View {
	v := tea.NewView(topView(m.screen))
	v.AltScreen = true
	v.WindowTitle = "jvsfs top"
	return v
}

// Update is tea.Model's.
func (m topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	s := &m.screen
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.Width, s.Height = msg.Width, msg.Height
	case snapshot:
		if !s.Paused {
			s.Rates = s.Rates.next(s.Snapshot, msg)
			s.Snapshot, s.Failed = msg, ""
		}
		return m, m.later()
	case lookFailed:
		s.Failed = human.Printable(msg.err.Error())
		return m, m.later()
	case lookAgain:
		if s.Paused {
			return m, m.later()
		}
		return m, m.look
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return m, tea.Quit
		}
		if s.Filtering {
			s.typed(msg)
			return m, nil
		}
		return m, s.key(msg.String())
	}
	return m, nil
}

func (m topModel) later() tea.Cmd {
	return tea.Tick(m.every, func(time.Time) tea.Msg { return lookAgain{} })
}

// key handles a key.
func (s *topScreen) key(key string) tea.Cmd {
	switch key {
	case "q":
		return tea.Quit
	case "s":
		s.Sort = (s.Sort + 1) % topSorts
	case "r":
		s.Reverse = !s.Reverse
	case "/":
		s.Filtering = true
	case "esc":
		s.Filter, s.Help = "", false
	case "p", "space":
		s.Paused = !s.Paused
	case "?", "h":
		s.Help = !s.Help
	case "up", "k":
		s.scroll(-1)
	case "down", "j":
		s.scroll(1)
	case "pgup":
		s.scroll(-s.Height / 2)
	case "pgdown":
		s.scroll(s.Height / 2)
	case "home", "g":
		s.Offset = 0
	}
	return nil
}

// scroll moves the list, no further than its last line.
func (s *topScreen) scroll(by int) {
	s.Offset = min(max(s.Offset+by, 0), max(len(s.listLines())-1, 0))
}

// filterMax bounds what can be typed, in characters.
const filterMax = 64

// typed handles a key while a filter is typed.
func (s *topScreen) typed(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "enter":
		s.Filtering = false
	case "esc":
		s.Filtering, s.Filter = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.Filter)
		s.Filter = s.Filter[:len(s.Filter)-n]
	default:
		if text := human.Printable(msg.Text); utf8.RuneCountInString(s.Filter+text) <= filterMax {
			s.Filter += strings.ToLower(text)
		}
	}
	s.Offset = 0
}
