package testkit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// Prometheus is what Prometheus' own library reads in a text of metrics. It demands that the library would write the same text, to the byte.
func Prometheus(t testing.TB, text string) prometheus.Gatherer {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	var all []*dto.MetricFamily
	var again strings.Builder
	to := expfmt.NewEncoder(&again, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, name := range slices.Sorted(maps.Keys(read)) {
		all = append(all, read[name])
		require.NoError(t, to.Encode(read[name]))
	}
	require.Equal(t, again.String(), text)
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return all, nil })
}
