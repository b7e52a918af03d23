package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parser reads the text line by line.
type parser struct {
	families map[string]*Family
	typed    map[string]bool
}

// Parse reads a text that somebody else wrote. It takes what Text writes, of any release, and nothing that it would not: a line without a
// TYPE before it, a time, a label twice. So what is read can be written again.
func Parse(text string) (map[string]*Family, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	p := parser{families: map[string]*Family{}, typed: map[string]bool{}}
	for line := range strings.Lines(text) {
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("%.200q: %w", line, err)
		}
	}
	for name, f := range p.families {
		if len(f.Series) == 0 { // described, and nothing more
			delete(p.families, name)
		}
	}
	return p.families, nil
}

func (p *parser) line(line string) error {
	comment, is := strings.CutPrefix(line, "# ")
	switch {
	case line == "":
		return nil
	case !is:
		return p.sample(line)
	}
	word, rest, _ := strings.Cut(comment, " ")
	name, text, _ := strings.Cut(rest, " ")
	if word != "HELP" && word != "TYPE" {
		return nil
	}
	if !isName(name, ":") {
		return errors.New("this is no name")
	}
	f := p.families[name]
	if f == nil {
		f = &Family{Name: name}
		p.families[name] = f
	}
	if word == "HELP" {
		f.Help = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(text)
		return nil
	}
	if p.typed[name] {
		return errors.New("it has a type already")
	}
	p.typed[name] = true
	f.Kind = Kind(text)
	if !slices.Contains([]Kind{Counter, Gauge, Histogram}, f.Kind) {
		return errors.New("no metric here has this type")
	}
	return nil
}

// sample adds NAME{LABELS} VALUE to its family.
func (p *parser) sample(line string) error {
	end := strings.IndexAny(line, "{ ")
	if end < 0 {
		return errors.New("it has no value")
	}
	f, suffix := p.familyOf(line[:end])
	if f == nil {
		return errors.New("it has no type")
	}
	labels, rest, err := parseLabels(line[end:])
	if err != nil {
		return err
	}
	value, is := strings.CutPrefix(rest, " ")
	one := Sample{suffix: suffix}
	if one.Value, err = strconv.ParseFloat(value, 64); err != nil || !is {
		return errors.New("this is no value")
	}
	if suffix == "_bucket" {
		i := slices.IndexFunc(labels, func(l Label) bool { return l.Name == "le" })
		if i < 0 {
			return errors.New("this bucket has no bound")
		}
		one.bound = labels[i]
		labels = slices.Delete(labels, i, i+1)
	}
	sortLabels(labels)
	f.put(labels, one)
	return nil
}

// familyOf is the family of a name in a line, and what a histogram adds to its own.
func (p *parser) familyOf(name string) (*Family, string) {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, is := strings.CutSuffix(name, suffix)
		if f := p.families[base]; is && f != nil && f.Kind == Histogram {
			return f, suffix
		}
	}
	f := p.families[name]
	if f == nil || !p.typed[name] || f.Kind == Histogram {
		return nil, ""
	}
	return f, ""
}

// put adds a sample to its series: lines of a histogram stand together.
func (f *Family) put(labels []Label, one Sample) {
	if last := len(f.Series) - 1; f.Kind == Histogram && last >= 0 && slices.Equal(f.Series[last].Labels, labels) {
		f.Series[last].Samples = append(f.Series[last].Samples, one)
		return
	}
	f.Series = append(f.Series, Series{Labels: labels, Samples: []Sample{one}})
}

// parseLabels reads {NAME="VALUE",...}, if there is any.
func parseLabels(text string) (labels []Label, rest string, err error) {
	rest, is := strings.CutPrefix(text, "{")
	if !is {
		return nil, text, nil
	}
	for {
		var l Label
		if l.Name, rest, is = strings.Cut(rest, `="`); !is || !isName(l.Name, "") {
			return nil, "", errors.New("this is no label")
		}
		if l.Value, rest, err = parseValue(rest); err != nil {
			return nil, "", err
		}
		if slices.ContainsFunc(labels, func(have Label) bool { return have.Name == l.Name }) || strings.HasPrefix(l.Name, "__") {
			return nil, "", fmt.Errorf("it cannot have the label %s", l.Name)
		}
		labels = append(labels, l)
		if end, is := strings.CutPrefix(rest, "}"); is {
			return labels, end, nil
		}
		if rest, is = strings.CutPrefix(rest, ","); !is {
			return nil, "", errors.New("the labels have no end")
		}
	}
}

// parseValue reads up to the quotation mark that ends the value of a label.
func parseValue(text string) (value, rest string, err error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return out.String(), text[i+1:], nil
		case '\\':
			if i++; i == len(text) || !strings.ContainsRune(`\n"`, rune(text[i])) {
				return "", "", errors.New("this escapes nothing")
			}
			if c = text[i]; c == 'n' {
				c = '\n'
			}
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	return "", "", errors.New("a value of a label has no end")
}

// isName reports whether a word is a name, which may have the other characters beside letters, digits and _.
func isName(word, others string) bool {
	for i, c := range word {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune(others, c)
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return word != ""
}
