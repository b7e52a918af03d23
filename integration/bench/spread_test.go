package main

import (
	"math"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("spreadOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestGeometricMeanLeavesOutWhatIsNotThere(t *testing.T) {
	if got := geometricMean([]float64{2, 0, 8}); math.Abs(got-4) > 1e-9 {
		t.Errorf("got %v, want 4", got)
	}
	if got := geometricMean(nil); got != 0 {
		t.Errorf("got %v of nothing, want 0", got)
	}
}

func TestRatiosAreRoundByRound(t *testing.T) {
	r := result{Cells: map[string]*cell{
		"native": {Times: []time.Duration{10, 20, 40}},
		"slow":   {Times: []time.Duration{20, 40, 200}},
	}}
	r.compare()
	if got := r.Cells["slow"].Ratio; got != (spread{2, 2, 5}) {
		t.Errorf("got %v", got)
	}
}
