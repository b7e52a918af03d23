package fusefs

import (
	"slices"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
)

// Timing says what requests of one operation have cost since the mount.
type Timing struct {
	Op gate.Op // OpNone: requests that the file system does not know
	transport.Timing
}

// Timings returns what was measured, for each operation that occurred, in the order of gate's
// table. The counters are read one by one, not at one instant.
func (s *Server) Timings() []Timing {
	var out []Timing
	for _, t := range s.meter.Timings() {
		if op, _ := gate.OpByMethod(t.Method); t.Count > 0 {
			out = append(out, Timing{op, t})
		}
	}
	slices.SortFunc(out, func(a, b Timing) int { return int(a.Op) - int(b.Op) })
	return out
}
