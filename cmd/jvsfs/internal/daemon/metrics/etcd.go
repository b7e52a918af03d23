package metrics

import "github.com/jvsfs/jvsfs/lease"

// These are there only where the leases are in etcd.
var (
	metricEtcdRequests = describe("etcd_requests_total", "Requests to etcd by what they are for; result is ok or failed.", "request", "result")
	metricEtcdDuration = describe("etcd_request_duration_seconds", "How long requests to etcd took, failed ones among them.", "request")
	metricEtcdAge      = describe("etcd_keepalive_age_seconds", "Since before the last keepalive was sent that counts; the deadline of all leases counts from there. 0 while nothing is kept.")
	metricEtcdLeases   = describe("etcd_leases_total", "Etcd leases of this mount; more than one: the one before had run out, or was revoked.")
	metricEtcdRestores = describe("etcd_restores_total", "Times that etcd had gone back in time or was another one, which ended what was held.")
	metricEtcdWatching = describe("etcd_watching", "1 while etcd tells what changes; looks cost a request each otherwise.")
	metricEtcdOpen     = describe("etcd_open_claims", "Claims of which it is not known yet whether they stand: an answer was lost.")
)

// ofEtcd tells nothing where the lock directory decides.
func (s sink) ofEtcd(c *lease.RemoteCounts) {
	if c == nil {
		return
	}
	for what, r := range c.Requests {
		s.counter(metricEtcdRequests, r.OK, what, resultName(true))
		s.counter(metricEtcdRequests, r.Failed, what, resultName(false))
		buckets, sum := make(map[float64]uint64, len(r.Within)), uint64(0)
		for i, n := range r.Within {
			sum += n
			buckets[lease.RemoteBounds[i].Seconds()] = sum
		}
		s.to.Histogram(metricEtcdDuration, r.OK+r.Failed, r.Spent.Seconds(), buckets, what)
	}
	s.gauge(metricEtcdAge, c.Kept.Seconds())
	s.counter(metricEtcdLeases, c.Leases)
	s.counter(metricEtcdRestores, c.Restores)
	watching := 0.0
	if c.Watching {
		watching = 1
	}
	s.gauge(metricEtcdWatching, watching)
	s.gauge(metricEtcdOpen, float64(c.Open))
}
