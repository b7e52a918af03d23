package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func sample() mediumRun {
	return mediumRun{Medium: "tmpfs", Targets: []string{"native", "jvsfs", "bindfs"}, Rows: []result{{
		Row: "stat", Unit: "stat", Ops: 10,
		Cells: map[string]*cell{
			"native": {Times: []time.Duration{10000}, Ratio: spread{1, 1, 1}},
			"jvsfs": {
				Times: []time.Duration{20000}, Ratio: spread{2, 2, 2}, Daemon: []time.Duration{5000},
				Requests: map[string]float64{"Lookup": 1, "Forget": 7},
			},
			"bindfs": {Error: "cannot"},
		},
	}}}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := writeMarkdown(&out, sample().grid()); err != nil {
		t.Fatal(err)
	}
	want := `| on tmpfs | native | jvsfs | requests | its daemon | bindfs |
|---|---|---|---|---|---|
| stat | 1.00 µs/stat | 2.00 (2.00..2.00) | 1.00 | 0.50 µs | - |
| geometric mean |  | 2.00 |  |  | - |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTableComparesRulesWithNone(t *testing.T) {
	r := result{Row: "create", Unit: "file", Ops: 1, Cells: map[string]*cell{
		"native": {Times: []time.Duration{10000}}, "jvsfs": {Times: []time.Duration{20000}}, withRules: {Times: []time.Duration{21000}},
	}}
	r.compare()
	grid := mediumRun{Medium: "tmpfs", Targets: []string{"native", "jvsfs", withRules}, Rows: []result{r}}.grid()
	if got, want := grid[1][6], "1.05 (1.05..1.05)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := grid[2][6], "1.05"; got != want {
		t.Errorf("mean: got %q, want %q", got, want)
	}
}

func TestPicture(t *testing.T) {
	rep := report{Media: []mediumRun{sample(), sample()}}
	for _, name := range []string{"p.svg", "p.png"} {
		path := filepath.Join(t.TempDir(), name)
		if err := rep.draw(path); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if rep.draw(filepath.Join(t.TempDir(), "p.gif")) == nil {
		t.Error("a .gif was drawn")
	}
}
