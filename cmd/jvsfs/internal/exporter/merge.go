package exporter

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// mountLabel tells the mounts apart. Nobody else may set it.
const mountLabel = "mountpoint"

// label is a mount point as a label, which must be UTF-8. The quoted ones are no paths, so no two are alike.
func label(mountpoint string) string {
	if utf8.ValidString(mountpoint) {
		return mountpoint
	}
	return strconv.QuoteToASCII(mountpoint)
}

// parse reads what a daemon says. It may be of another release.
func parse(text string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	for name, f := range all {
		if !strings.HasPrefix(name, "jvsfs_") || isOwn(name) {
			return nil, fmt.Errorf("a daemon has no metric %q", name)
		}
		if slices.ContainsFunc(f.Metric, hasMountLabel) {
			return nil, fmt.Errorf("%s has the label %s already", name, mountLabel)
		}
	}
	return all, nil
}

func hasMountLabel(m *dto.Metric) bool {
	return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == mountLabel })
}

// merged puts the metrics of all mounts together. What daemons of different releases count differently is taken
// from the first one: a name has one type.
func merged(all []seen) ([]*dto.MetricFamily, error) {
	families, err := ownMetrics(all)
	if err != nil {
		return nil, err
	}
	byName := map[string]*dto.MetricFamily{}
	for _, s := range all {
		for _, name := range slices.Sorted(maps.Keys(s.families)) {
			f := s.families[name]
			for _, m := range f.Metric {
				addLabel(m, mountLabel, s.mountpoint)
			}
			have, is := byName[name]
			switch {
			case !is:
				byName[name] = f
				families = append(families, f)
			case have.GetType() == f.GetType():
				have.Metric = append(have.Metric, f.Metric...)
			}
		}
	}
	sort.Slice(families, func(i, j int) bool { return families[i].GetName() < families[j].GetName() })
	return families, nil
}

func addLabel(m *dto.Metric, name, value string) {
	m.Label = append(m.Label, &dto.LabelPair{Name: &name, Value: &value})
	sort.Slice(m.Label, func(i, j int) bool { return m.Label[i].GetName() < m.Label[j].GetName() })
}
