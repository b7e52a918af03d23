package lease

import "time"

// RemoteCounts are what an authority on other machines counts of its requests, since it was opened.
type RemoteCounts struct {
	Requests map[string]RemoteRequests // by what they are for
	Leases   uint64                    // that the authority was asked for, to keep all claims; more than one: it was made again
	Restores uint64                    // times that it had gone back in time
	Kept     time.Duration             // since before the last keepalive was sent that counts; 0: nothing is kept
	Watching bool                      // it tells what changes
	Open     int                       // claims of which it is not known yet whether they stand
}

// RemoteRequests are the requests of one kind.
type RemoteRequests struct {
	OK, Failed uint64
	Spent      time.Duration
	Within     [len(RemoteBounds)]uint64 // not cumulative; longer ones are in none
}

// RemoteBounds are the buckets of requests: a round trip and a flush of the servers, up to the bound of a request.
var RemoteBounds = [...]time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second}

// Add counts one request.
func (r *RemoteRequests) Add(took time.Duration, err error) {
	if err != nil {
		r.Failed++
	} else {
		r.OK++
	}
	r.Spent += took
	for i, bound := range RemoteBounds {
		if took <= bound {
			r.Within[i]++
			return
		}
	}
}
