package daemon

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
)

// answerMetrics is what the server of metrics says, for a client of the control socket: the exporter of all mounts.
func (d *metering) answerMetrics() (api.Response, error) {
	all, err := d.gathers.Gather()
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(api.MetricsText{Text: metrics.Text(all)})
}
