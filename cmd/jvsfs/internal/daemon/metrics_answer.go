package daemon

import (
	"bytes"

	"github.com/prometheus/common/expfmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// answerMetrics is what the server of metrics says, for a client of the control socket: the exporter of all mounts.
func (d *metering) answerMetrics() (api.Response, error) {
	families, err := d.registry.Gather()
	if err != nil {
		return api.Response{}, err
	}
	var text bytes.Buffer
	to := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := to.Encode(f); err != nil {
			return api.Response{}, err
		}
	}
	return api.ResultOf(api.MetricsText{Text: text.String()})
}
