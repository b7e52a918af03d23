package exporter

import (
	"runtime"
	"slices"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
)

// The metrics of the exporter itself. Their names and labels are a promise.
var (
	metricUp    = describe("jvsfs_up", "1 if the daemon of the mount has told its metrics.", mountLabel)
	metricState = describe("jvsfs_mount_state", "1 for the state of the mount: serving, dead, silent, forbidden, other_release (its daemon does not understand this exporter) or elsewhere (its daemon cannot be asked from here).", mountLabel, "state")
	metricTook  = describe("jvsfs_mount_scrape_duration_seconds", "How long the daemon of the mount took to answer.", mountLabel)
	metricBuild = describe("jvsfs_exporter_build_info", "Always 1; which release exports.", "version", "goversion")
)

// AllMetrics are the descriptions above.
var AllMetrics []*metrics.Desc

var ownNames []string

func describe(name, help string, labels ...string) *metrics.Desc {
	d := &metrics.Desc{Name: name, Help: help, Labels: labels}
	AllMetrics, ownNames = append(AllMetrics, d), append(ownNames, name)
	return d
}

func isOwn(name string) bool { return slices.Contains(ownNames, name) }

// ownMetrics are the families of the exporter's own metrics, after one look at all mounts.
func ownMetrics(all []seen) ([]*metrics.Family, error) {
	var to metrics.Set
	to.Gauge(metricBuild, 1, api.Version(), runtime.Version())
	for _, s := range all {
		to.Gauge(metricUp, one(s.state == serving), s.mountpoint)
		to.Gauge(metricTook, s.took.Seconds(), s.mountpoint)
		for _, state := range states {
			to.Gauge(metricState, one(s.state == state), s.mountpoint, state)
		}
	}
	return to.All()
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
