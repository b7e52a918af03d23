package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// worse is the sample with one more request, and slower in each round.
func worse() report {
	run := sample()
	c := run.Rows[0].Cells["jvsfs"]
	c.Ratio, c.Requests = spread{2.5, 2.3, 2.7}, map[string]float64{"Lookup": 1, "GetAttr": 1}
	return report{Media: []mediumRun{run}}
}

func TestSavedRatiosAreComparedWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ratios.csv")
	was := report{Media: []mediumRun{sample()}, Conditions: conditions{CPUs: 2, Load: 7, When: time.Unix(0, 0).UTC(), Command: "scripts/bench.sh"}}
	if err := was.save(path); err != nil {
		t.Fatal(err)
	}
	s, err := readSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	if about := strings.Join(s.about, "\n"); !strings.Contains(about, "1970-01-01 00:00 UTC, by: scripts/bench.sh\nprovisional:") {
		t.Errorf("about: %s", about)
	}
	var same, out bytes.Buffer
	was.printCompared(&same, s)
	if strings.Contains(same.String(), "regression") || !strings.Contains(same.String(), "0 of 1 rows") {
		t.Errorf("with itself:\n%s", &same)
	}
	worse().printCompared(&out, s)
	for _, want := range []string{
		"regression: stat on tmpfs, jvsfs: 2.50 times native, was 2.00 (+25 %, in every round)\n",
		"regression: stat on tmpfs, jvsfs: 2.00 requests, were 1.00\n",
		"1 of 1 rows",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// The ratios of the release are of rows and targets that there are.
func TestReleaseRatios(t *testing.T) {
	s, err := readSaved("release.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.about) == 0 || len(s.cells) == 0 {
		t.Fatalf("%d comments, %d ratios", len(s.about), len(s.cells))
	}
	for key, c := range s.cells {
		_, row := rowNamed(key.row)
		_, target := targetNamed(key.target)
		if !row || target != nil || c.ratio <= 0 {
			t.Errorf("%v: %v", key, c)
		}
	}
	for _, name := range quickRows() {
		if _, ok := s.cells[cellKey{"tmpfs", name, "jvsfs"}]; !ok {
			t.Errorf("nothing to compare the quick row %q with", name)
		}
	}
}
