//go:build jvsfs_hosts

package hosts

import (
	"context"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"time"
)

// id is the worktree of a place.
func id(place string) string { return path.Base(place) }

// acknowledgedTo is the file of what a host was acknowledged in a worktree.
func acknowledgedTo(h *host, place string) string { return h.File("acknowledged-" + id(place)) }

// sizeOf is 0 where there is no file yet.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// appends is a command that appends n records in a worktree.
func (x *chaos) appends(h *host, place, wait string, number, n int) []string {
	return []string{x.c.bin, "exec", "--wait", wait, viewDir + "/" + place, "--", "bash", h.File("appender"),
		h.Name, strconv.Itoa(number), strconv.Itoa(n), acknowledgedTo(h, place), viewDir + "/" + place + "/records/log"}
}

// append has a host take a lease again and again, for some records each time. It calls nothing that ends the test.
func (x *chaos) append(ctx context.Context, h *host, place string, rnd *rand.Rand) {
	out, err := os.Create(h.File("appends-" + id(place) + ".log"))
	if err != nil {
		return // nothing is acknowledged, and the test fails for that
	}
	defer out.Close() //nolint:errcheck // a log
	for number := 0; ctx.Err() == nil; {
		n, most := 1+rnd.IntN(20), time.Duration(rnd.Int64N(int64(4*time.Second)))
		before := x.othersAt(h, place)
		// A run of records that has begun ends, for the history needs to know what was acknowledged; the wait for the lease need not.
		argv := x.appends(h, place, "20s", number, n)
		cmd := h.Command(ctx, argv...)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, time.Minute
		number += n
		if cmd.Run() != nil { // refused, lost, or the mount is away
			most = 200 * time.Millisecond
		}
		x.turn(ctx, h, place, before, most)
	}
}

// turn leaves the lease to the other host: until that was acknowledged something, or some time has passed.
func (x *chaos) turn(ctx context.Context, h *host, place string, before int64, most time.Duration) {
	over := time.After(most)
	for x.othersAt(h, place) == before && ctx.Err() == nil {
		select {
		case <-over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// othersAt is how many bytes of records the other hosts were acknowledged in a worktree.
func (x *chaos) othersAt(h *host, place string) (all int64) {
	for _, other := range x.hosts {
		if other != h {
			all += sizeOf(acknowledgedTo(other, place))
		}
	}
	return all
}
