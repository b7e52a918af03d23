package mountcfg

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// presetFiles are rules for programs that many people have, in the form of a file of rules. The first line is a
// comment that says what the preset is for.
//
//go:embed presets/*.yaml
var presetFiles embed.FS

// Preset is one of them.
type Preset struct {
	Name  string
	About string // one line
	Text  string // YAML
}

// Presets are all presets by name.
func Presets() []Preset { return slices.Clone(loadPresets()) }

var loadPresets = sync.OnceValue(func() (all []Preset) {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(err) // they are in the program
	}
	for _, entry := range entries {
		text, err := presetFiles.ReadFile(path.Join("presets", entry.Name()))
		if err != nil {
			panic(err)
		}
		about, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Preset{Name: strings.TrimSuffix(entry.Name(), ".yaml"), About: about, Text: string(text)})
	}
	slices.SortFunc(all, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// FindPreset finds a preset by its name. The error names one that is spelled alike.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range loadPresets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	hint := didYouMean(name, names)
	if hint == "" {
		hint = "; jvsfs rules lists them"
	}
	return Preset{}, fmt.Errorf("there is no preset %s%s", quoteName(name), hint)
}

// presetRules are the rules of a preset, for the caller alone.
func presetRules(name string) ([]LockRule, error) {
	p, err := FindPreset(name)
	if err != nil {
		return nil, err
	}
	r := newReader("preset "+name, "", []byte(p.Text))
	r.inPreset = true
	c, err := r.read([]byte(p.Text), (*reader).ruleFile, nil)
	for i := range c.Rules {
		c.Rules[i].Preset, c.Rules[i].From = name, name
	}
	return c.Rules, err
}
