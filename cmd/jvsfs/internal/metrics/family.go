package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Kind is the type of a metric.
type Kind string

// The kinds that are made here. What is read may have another one.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Desc describes a metric. Its names are a promise.
type Desc struct {
	Name, Help string
	Labels     []string // their names
}

// Label is a label of a series.
type Label struct{ Name, Value string }

// Family is a metric with all its series.
type Family struct {
	Name, Help string
	Kind       Kind
	Series     []Series
}

// Series is what has one set of labels, sorted by their names: one sample, or the buckets, the sum and the count of a histogram.
type Series struct {
	Labels  []Label
	Samples []Sample
}

// Sample is one line of the text.
type Sample struct {
	suffix string // of the name
	bound  Label  // le of a bucket, quantile of a summary; without a name: neither
	Value  float64
}

// Set is what one scrape collects.
type Set struct{ families map[string]*Family }

// Counter adds a value that only grows. The labels are those of the description, in its order.
func (s *Set) Counter(d *Desc, v uint64, labels ...string) {
	s.add(d, Counter, labels, Sample{Value: float64(v)})
}

// Gauge adds a value that goes up and down.
func (s *Set) Gauge(d *Desc, v float64, labels ...string) {
	s.add(d, Gauge, labels, Sample{Value: v})
}

// Histogram adds how many of count were at most each bound, and the sum of all.
func (s *Set) Histogram(d *Desc, count uint64, sum float64, within map[float64]uint64, labels ...string) {
	samples := make([]Sample, 0, len(within)+3)
	for _, bound := range slices.Sorted(maps.Keys(within)) {
		samples = append(samples, bucket(bound, within[bound]))
	}
	samples = append(samples, bucket(math.Inf(1), count), Sample{suffix: "_sum", Value: sum}, Sample{suffix: "_count", Value: float64(count)})
	s.add(d, Histogram, labels, samples...)
}

func bucket(bound float64, n uint64) Sample {
	return Sample{suffix: "_bucket", bound: Label{"le", number(bound)}, Value: float64(n)}
}

// number is a value as the text has it.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (s *Set) add(d *Desc, kind Kind, values []string, samples ...Sample) {
	if len(values) != len(d.Labels) {
		panic(fmt.Sprintf("%s has the labels %q, not the values %q", d.Name, d.Labels, values))
	}
	one := Series{Labels: make([]Label, len(values)), Samples: samples}
	for i, value := range values {
		one.Labels[i] = Label{d.Labels[i], value}
	}
	sortLabels(one.Labels)
	if s.families == nil {
		s.families = map[string]*Family{}
	}
	f := s.families[d.Name]
	if f == nil {
		f = &Family{Name: d.Name, Help: d.Help, Kind: kind}
		s.families[d.Name] = f
	}
	f.Series = append(f.Series, one)
}

// All are the families by their names, with their series by the values of their labels. One that is there twice is an error: a scraper
// would take one of them, or none.
func (s *Set) All() ([]*Family, error) {
	all := slices.SortedFunc(maps.Values(s.families), func(a, b *Family) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range all {
		slices.SortStableFunc(f.Series, compareSeries)
		for i := range f.Series[1:] {
			if compareSeries(f.Series[i], f.Series[i+1]) == 0 {
				return nil, fmt.Errorf("%s has the labels %v twice", f.Name, f.Series[i].Labels)
			}
		}
	}
	return all, nil
}

func compareSeries(a, b Series) int {
	return slices.CompareFunc(a.Labels, b.Labels, func(a, b Label) int { return cmp.Compare(a.Value, b.Value) })
}

// With gives a series one more label.
func (s *Series) With(l Label) {
	s.Labels = append(s.Labels, l)
	sortLabels(s.Labels)
}

func sortLabels(all []Label) {
	slices.SortFunc(all, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
}
