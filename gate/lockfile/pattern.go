package lockfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A pattern is a path with wildcards and captures: "*", "?" and "[a-z]" within a component, "**" for components,
// "{x}" for a part of a component, "{x...}" for one component or more. "{x...}/" may also be nothing.
type pattern struct {
	text   string
	re     *regexp.Regexp
	parts  []part
	prefix string // what each match begins and ends with, and has in it: most paths are told by that
	suffix string
	needle string
}

// part is literal text, a wildcard, or a capture.
type part struct {
	text    string // literal text, or of a wildcard its regular expression
	capture string // name of the capture
	many    bool   // it may span components
	slash   bool   // it takes the slash behind it along, and both may be missing
	wild    bool
}

// parsePattern reads a pattern. The error says what is wrong with it, for the one who wrote it.
func parsePattern(text string) (*pattern, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	p := &pattern{text: text}
	for rest := text; rest != ""; {
		one, left, err := nextPart(rest, p.parts)
		if err != nil {
			return nil, err
		}
		p.parts, rest = append(p.parts, one), left
	}
	return p, p.compile()
}

func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("want a pattern, not an empty value")
	case len(text) > MaxPattern:
		return fmt.Errorf("want at most %d bytes", MaxPattern)
	case strings.HasPrefix(text, "/"):
		return errors.New("want a pattern relative to the worktree's root, without a slash in front")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("want no control characters")
	}
	for c := range strings.SplitSeq(text, "/") {
		switch c {
		case "", ".":
			return errors.New("want no empty component and no '.'")
		case "..":
			return errors.New("want no '..': a pattern stays below the worktree's root")
		}
	}
	return nil
}

// nextPart takes one part from the front. before are those in front of it.
func nextPart(rest string, before []part) (one part, left string, err error) {
	atStart := len(before) == 0 || before[len(before)-1].slash || strings.HasSuffix(before[len(before)-1].text, "/")
	switch {
	case rest[0] == '{':
		return captureOf(rest, before, atStart)
	case strings.HasPrefix(rest, "**"):
		return starsOf(rest, atStart)
	case rest[0] == '*':
		return part{text: "[^/]*", wild: true}, rest[1:], nil
	case rest[0] == '?':
		return part{text: "[^/]", wild: true}, rest[1:], nil
	case rest[0] == '[':
		return classOf(rest)
	case rest[0] == '}' || rest[0] == ']' || rest[0] == '\\':
		return part{}, "", fmt.Errorf("want no %q outside of a capture or a class", rest[:1])
	}
	n := strings.IndexAny(rest, "{*?[}]\\")
	if n < 0 {
		n = len(rest)
	}
	return part{text: rest[:n]}, rest[n:], nil
}

func starsOf(rest string, atStart bool) (part, string, error) {
	left, whole := rest[2:], rest == "**"
	if !atStart || !whole && left[0] != '/' {
		return part{}, "", errors.New("want '**' as a whole component")
	}
	if whole {
		return part{text: ".+", wild: true}, "", nil
	}
	return part{text: "(?:.+/)?", wild: true, slash: true}, left[1:], nil
}

func classOf(rest string) (part, string, error) {
	end := strings.IndexByte(rest, ']')
	if end < 2 || strings.ContainsAny(rest[1:end], `/\[^!&`) {
		return part{}, "", errors.New("want a class like [a-z], without '/', '\\', '[', '^' and '!'")
	}
	class := rest[:end+1]
	if _, err := regexp.Compile(class); err != nil {
		return part{}, "", fmt.Errorf("the class %s is none: look at its ranges", class)
	}
	return part{text: class, wild: true}, rest[end+1:], nil
}

var captureName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) })

func isCaptureName(s string) bool { return len(s) <= 32 && captureName().MatchString(s) }

func captureOf(rest string, before []part, atStart bool) (part, string, error) {
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return part{}, "", errors.New("a capture is not closed: want {name} or {name...}")
	}
	name, many := strings.CutSuffix(rest[1:end], "...")
	left := rest[end+1:]
	switch {
	case !isCaptureName(name):
		return part{}, "", fmt.Errorf("%s: want {name} or {name...}, with a name of lower-case letters, digits and underscores", rest[:end+1])
	case slices.ContainsFunc(before, func(p part) bool { return p.capture == name }):
		return part{}, "", fmt.Errorf("%s stands there twice", rest[:end+1])
	case len(before) > 0 && before[len(before)-1].capture != "" && !before[len(before)-1].slash:
		return part{}, "", fmt.Errorf("want something between %s and the capture before it", rest[:end+1])
	case many && !atStart:
		return part{}, "", fmt.Errorf("want %s at the beginning of a component", rest[:end+1])
	case many && strings.HasPrefix(left, "/"):
		return part{capture: name, many: true, slash: true}, left[1:], nil
	}
	return part{capture: name, many: many}, left, nil
}

// compile makes the regular expression. Go's take time in proportion to the path, whatever the pattern.
func (p *pattern) compile() (err error) {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for _, one := range p.parts {
		switch {
		case one.slash && one.capture != "":
			b.WriteString("(?:(?P<" + one.capture + ">.+)/)?")
		case one.many:
			b.WriteString("(?P<" + one.capture + ">.+)")
		case one.capture != "":
			b.WriteString("(?P<" + one.capture + ">[^/]+)")
		case one.wild:
			b.WriteString(one.text)
		default:
			b.WriteString(regexp.QuoteMeta(one.text))
		}
	}
	b.WriteString(`$`)
	if first := p.parts[0]; first.literal() {
		p.prefix = first.text
	}
	if last := p.parts[len(p.parts)-1]; last.literal() {
		p.suffix = last.text
	}
	for _, one := range p.parts {
		if one.literal() && len(one.text) > len(p.needle) {
			p.needle = one.text
		}
	}
	p.re, err = regexp.Compile(b.String())
	return err
}

func (p part) literal() bool { return p.capture == "" && !p.wild }

// captures are the names in order.
func (p *pattern) captures() (names []string) {
	for _, one := range p.parts {
		if one.capture != "" {
			names = append(names, one.capture)
		}
	}
	return names
}

// canBeFilled reports whether captures and text alone make the path.
func (p *pattern) canBeFilled() bool {
	return !slices.ContainsFunc(p.parts, func(one part) bool { return one.wild })
}

// mayMatch tells most paths that do not match at little cost.
func (p *pattern) mayMatch(path string) bool {
	return strings.HasPrefix(path, p.prefix) && strings.HasSuffix(path, p.suffix) && strings.Contains(path, p.needle)
}

// match returns what the captures caught.
func (p *pattern) match(path string) (caught captured, ok bool) {
	if !p.mayMatch(path) {
		return nil, false
	}
	m := p.re.FindStringSubmatch(path)
	if m == nil {
		return nil, false
	}
	for i, name := range p.re.SubexpNames() {
		if name != "" {
			caught = append(caught, Capture{name, m[i]})
		}
	}
	return caught, true
}

// Capture is what one capture caught.
type Capture struct{ Name, Value string }

type captured []Capture

func (c captured) of(name string) string {
	for _, one := range c {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

// fill makes the path from what another pattern's captures caught.
func (p *pattern) fill(c captured) string {
	var b strings.Builder
	for _, one := range p.parts {
		value := c.of(one.capture)
		switch {
		case one.capture == "":
			b.WriteString(one.text)
		case one.slash && value == "":
		case one.slash:
			b.WriteString(value + "/")
		default:
			b.WriteString(value)
		}
	}
	return b.String()
}
