package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// heldFor mounts and lets somebody hold the lease for a purpose; a stranger is refused.
func heldFor(t *testing.T, purpose string) *harness.Mount {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	m.MustCLI("lock", "acquire", "--pid", strconv.Itoa(holder.PID()), "--purpose", purpose, m.At("main"))
	holder.OK(m.Put("main", "f"))
	for range 3 {
		stranger.Fails(m.Put("main", "f"), "EROFS")
	}
	return m
}

// The screen of top in a real terminal: what it shows, that it takes keys, follows the
// terminal's size and the death of a daemon, and ends with 0.
func TestTopShowsHoldersTakesKeysAndFollowsTheTerminal(t *testing.T) {
	m := heldFor(t, "painting\x1b]0;pwned\a\x1b[31mred")
	c := newTerminal(m, 100, 30, m.Bin+" top --interval 200ms")
	screen := c.shows("jvsfs top", m.Mountpoint, "main", "held", "painting?]0;pwned??[31mred", "is being written by", "q quit", "█")
	t.Log("\n" + screen)
	require.NotContains(t, c.bytes(), "pwned\a", "a purpose is text")
	require.Contains(t, c.coloured(), "\x1b[32m█", "plenty of time is green")

	c.keys("?")
	c.shows("the other way round")
	c.keys("?")
	c.keys("/", "zzz", "Enter")
	c.shows("nothing has this text")
	c.keys("Escape")
	c.shows("painting")
	c.keys("p")
	c.shows("PAUSED")
	c.keys("p")

	c.resize(48, 14)
	harness.EventuallyNoted(t, "the screen is drawn for the new size", func() (bool, string) {
		screen = c.screen()
		return strings.Contains(screen, "LEFT") && !strings.Contains(screen, "TOKEN") && strings.Contains(screen, "q quit"), screen
	})
	for _, line := range strings.Split(screen, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 48)
	}
	c.resize(120, 30)
	host, err := os.Hostname()
	require.NoError(t, err)
	c.shows("REFUSED/s", host+":root:") // there is room for the whole holder

	m.KillDaemon()
	screen = c.shows(m.Mountpoint+"  dead", "next: ", " not serving")
	t.Log("\n" + screen)
	c.keys("q")
	c.shows("ended with 0")
}

// ratesOnScreen are where top says how often something happens: of the machine, of the
// mount, and how often a worktree was refused.
var ratesOnScreen = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^operations/s +([\d.]+)[kM]? .*refused/s +([\d.]+)`),
	regexp.MustCompile(`(?m)  serving  .*  ([\d.]+)[kM]? operations/s  ([\d.]+)[kM]? refused/s$`),
	regexp.MustCompile(`(?m)^ main .* ([\d.]+)k? +\d+$`),
}

// rates waits until all that stand on the screen are as wanted.
func (c *terminal) rates(what string, ok func(rate float64) bool) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, what, func() (bool, string) {
		screen := c.screen()
		for _, one := range ratesOnScreen {
			found := one.FindStringSubmatch(screen)
			if found == nil {
				return false, screen
			}
			for _, text := range found[1:] {
				if rate, err := strconv.ParseFloat(text, 64); err != nil || !ok(rate) {
					return false, screen
				}
			}
		}
		return true, screen
	})
}

// What happens each second stands there while it happens, and no longer.
func TestTopShowsRates(t *testing.T) {
	m := heldFor(t, "a test")
	stranger := harness.StartActor(t, "hammer")
	c := newTerminal(m, 120, 30, m.Bin+" top --interval 200ms")
	h := startHammer(t, stranger, m.At("main", "strange"), m.At("main", "f"), filepath.Join(m.Base, "stop"))
	c.rates("operations and refusals a second are shown", func(rate float64) bool { return rate > 0 })
	t.Log("\n" + c.screen())
	require.NotZero(t, h.end()["write EROFS"])
	c.rates("what has ended is shown no more", func(rate float64) bool { return rate == 0 })
	c.keys("q")
	c.shows("ended with 0")
}

// Without colours where nobody wants them; Ctrl-C is an end like any other.
func TestTopPrintsNoColoursWhereNobodyWantsThem(t *testing.T) {
	m := heldFor(t, "a test")
	for _, setting := range []string{"NO_COLOR=1", "TERM=dumb"} {
		c := newTerminal(m, 80, 24, "env "+setting+" "+m.Bin+" top --interval 200ms", setting)
		c.shows("held", "a test")
		for _, colour := range []string{"\x1b[32m", "\x1b[31m", "\x1b[33m"} {
			require.NotContains(t, c.coloured(), colour, setting)
		}
		c.keys("C-c")
		c.shows("ended with 0")
	}
}

// Where there is no terminal top says what to use.
func TestTopWithoutATerminalSaysWhatToUse(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	_, errs, exit := m.CLI("top")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "jvsfs status --watch")
}
