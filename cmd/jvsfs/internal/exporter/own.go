package exporter

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// The metrics of the exporter itself. Their names and labels are a promise.
var (
	metricUp    = describe("jvsfs_up", "1 if the daemon of the mount has told its metrics.", mountLabel)
	metricState = describe("jvsfs_mount_state", "1 for the state of the mount: serving, dead, silent, forbidden, other_release (its daemon does not understand this exporter) or elsewhere (its daemon cannot be asked from here).", mountLabel, "state")
	metricTook  = describe("jvsfs_mount_scrape_duration_seconds", "How long the daemon of the mount took to answer.", mountLabel)
	metricBuild = describe("jvsfs_exporter_build_info", "Always 1; which release exports.", "version", "goversion")
)

// AllMetrics are the descriptions above.
var AllMetrics []*prometheus.Desc

var ownNames []string

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	AllMetrics, ownNames = append(AllMetrics, d), append(ownNames, name)
	return d
}

func isOwn(name string) bool { return slices.Contains(ownNames, name) }

// own are the metrics of the exporter after one look at all mounts.
type own []seen

// ownMetrics are the families of the exporter's own metrics.
func ownMetrics(all []seen) ([]*dto.MetricFamily, error) {
	r := prometheus.NewRegistry()
	if err := r.Register(own(all)); err != nil {
		return nil, fmt.Errorf("metrics of the exporter: %w", err)
	}
	return r.Gather()
}

// Describe is prometheus.Collector's.
func (own) Describe(to chan<- *prometheus.Desc) {
	for _, d := range AllMetrics {
		to <- d
	}
}

// Collect is prometheus.Collector's.
func (o own) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(metricBuild, 1, api.Version(), runtime.Version())
	for _, s := range o {
		gauge(metricUp, one(s.state == serving), s.mountpoint)
		gauge(metricTook, s.took.Seconds(), s.mountpoint)
		for _, state := range states {
			gauge(metricState, one(s.state == state), s.mountpoint, state)
		}
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
