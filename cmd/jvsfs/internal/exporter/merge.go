package exporter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
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
func parse(text string) (map[string]*metrics.Family, error) {
	all, err := metrics.Parse(text)
	if err != nil {
		return nil, err
	}
	for name, f := range all {
		if !strings.HasPrefix(name, "jvsfs_") || isOwn(name) {
			return nil, fmt.Errorf("a daemon has no metric %q", name)
		}
		if slices.ContainsFunc(f.Series, hasMountLabel) {
			return nil, fmt.Errorf("%s has the label %s already", name, mountLabel)
		}
	}
	return all, nil
}

func hasMountLabel(s metrics.Series) bool {
	return slices.ContainsFunc(s.Labels, func(l metrics.Label) bool { return l.Name == mountLabel })
}

// merged puts the metrics of all mounts together. What daemons of different releases count differently is taken
// from the first one: a name has one type.
func merged(all []seen) ([]*metrics.Family, error) {
	families, err := ownMetrics(all)
	if err != nil {
		return nil, err
	}
	byName := map[string]*metrics.Family{}
	for _, s := range all {
		for _, name := range slices.Sorted(maps.Keys(s.families)) {
			f := s.families[name]
			for i := range f.Series {
				f.Series[i].With(metrics.Label{Name: mountLabel, Value: s.mountpoint})
			}
			have, is := byName[name]
			switch {
			case !is:
				byName[name] = f
				families = append(families, f)
			case have.Kind == f.Kind:
				have.Series = append(have.Series, f.Series...)
			}
		}
	}
	slices.SortFunc(families, func(a, b *metrics.Family) int { return cmp.Compare(a.Name, b.Name) })
	return families, nil
}
