package service

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fiveAgents has five agents at work, somebody who is refused, and top in a terminal.
const fiveAgents = `
mkdir -p /srv/team/.jvs /srv/team/main /srv/team/worktrees/agent{1..5}
jvsfs mount --on-free deny --log-file /srv/log /srv/team
tasks=('' 'fix the parser' 'write the tests' 'port to arm64' 'update the docs' 'rename the API')
agents=()
for n in 1 2 3 4 5; do
  jvsfs exec --purpose "${tasks[n]}" /srv/team/worktrees/agent$n -- \
    sh -c "until [ -e /srv/enough ]; do echo work >>/srv/team/worktrees/agent$n/log; sleep 0.1; done" &
  agents+=($!)
done
tmux() { command tmux -u -S /srv/tmux -f /dev/null "$@"; }
tmux new-session -d -x 112 -y 18 -e LC_ALL=C.UTF-8 "jvsfs top --interval 1s; read end"
tmux set -g status off
until tmux capture-pane -p | grep -q '5 held'; do sleep 0.1; done
setsid --wait sh -c 'for i in 1 2 3; do rm -f /srv/team/worktrees/agent1/log; done' || true
until tmux capture-pane -p | grep -q 'Unlink refused'; do sleep 0.1; done
tmux capture-pane -p -e >/srv/top
tmux kill-server
touch /srv/enough
wait "${agents[@]}"
jvsfs umount /srv/team
cat /srv/top >"$MACHINE/top"
`

// The picture in README is the screen of the real program. JVSFS_PICTURES=DIR writes it.
func TestThePictureOfTopIsItsScreen(t *testing.T) {
	base := runOnMachine(t, fiveAgents)
	screen, err := os.ReadFile(filepath.Join(base, "machine", "top"))
	require.NoError(t, err)
	picture := pictureOf(string(screen))
	require.Equal(t, 5, strings.Count(picture, ">held</tspan>"))
	for _, text := range []string{"/srv/team", "agent5", "rename the API", "last refusals"} {
		require.Contains(t, picture, text)
	}
	if dir := os.Getenv("JVSFS_PICTURES"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "top.svg"), []byte(picture), 0o644))
	}
}

// The measures of a picture, in its own unit.
const (
	charWidth, lineHeight, margin = 8, 18, 12
	fontSize                      = 13
)

// styleOf is what a control sequence of colour and weight means in a picture.
var styleOf = map[string]string{
	"1": "font-weight:bold", "2": "opacity:.5", "31": "fill:#f2777a", "32": "fill:#99cc99", "33": "fill:#ffcc66",
}

var controlSequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// pictureOf draws a screen with its colours as SVG. Each run of a colour has its place and
// its width said, for no font is the same everywhere.
func pictureOf(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(controlSequence.ReplaceAllString(line, "")))
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d" fill="#ddd">`+"\n",
		width*charWidth+2*margin, len(lines)*lineHeight+2*margin, fontSize)
	out.WriteString(`<rect width="100%" height="100%" rx="8" fill="#1d1f21"/>` + "\n")
	var styles []string
	for row, line := range lines {
		styles = drawLine(&out, line, margin+row*lineHeight, styles)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// drawLine draws a line with the styles of the one before, and returns those at its end.
func drawLine(out *strings.Builder, line string, top int, styles []string) []string {
	column := 0
	draw := func(text string) {
		n := utf8.RuneCountInString(text)
		x, style := margin+column*charWidth, strings.Join(drawn(styles), ";")
		column += n
		if slices.Contains(styles, "7") {
			fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="#ddd"/>`, x, top, n*charWidth, lineHeight)
			style = "fill:#1d1f21;" + style
		}
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(out, `<text xml:space="preserve" x="%d" y="%d" textLength="%d" style="%s"><tspan>%s</tspan></text>`+"\n",
				x, top+lineHeight-5, n*charWidth, style, html.EscapeString(text))
		}
	}
	last := 0
	for _, m := range controlSequence.FindAllStringSubmatchIndex(line, -1) {
		draw(line[last:m[0]])
		styles, last = restyle(styles, line[m[2]:m[3]]), m[1]
	}
	draw(line[last:])
	return styles
}

func drawn(styles []string) (css []string) {
	for _, s := range styles {
		if styleOf[s] != "" {
			css = append(css, styleOf[s])
		}
	}
	return css
}

// restyle is what holds after a control sequence: 0 ends everything, 39 a colour.
func restyle(styles []string, codes string) []string {
	styles = slices.Clone(styles)
	for code := range strings.SplitSeq(codes, ";") {
		switch code {
		case "", "0":
			styles = nil
		case "39":
			styles = slices.DeleteFunc(styles, func(s string) bool { return strings.HasPrefix(s, "3") })
		case "49":
		default:
			styles = append(styles, code)
		}
	}
	return styles
}
