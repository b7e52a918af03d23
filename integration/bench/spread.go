package main

import (
	"math"
	"slices"
	"time"
)

// spread is a median with what lies around it.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	median := v[mid]
	if len(v)%2 == 0 {
		median = (v[mid-1] + v[mid]) / 2
	}
	return spread{median, v[0], v[len(v)-1]}
}

func (s spread) duration() time.Duration { return time.Duration(s.Median) }

func floats(times []time.Duration) []float64 {
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = float64(t)
	}
	return out
}

// geometricMean is the mean for ratios; 0 for none.
func geometricMean(ratios []float64) float64 {
	sum, n := 0.0, 0
	for _, r := range ratios {
		if r > 0 {
			sum, n = sum+math.Log(r), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}
