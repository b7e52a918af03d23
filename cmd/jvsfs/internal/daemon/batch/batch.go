// Package batch bounds how often is written what happens again and again: the first of it at once, and the rest together once a period.
// It counts nothing itself.
package batch

import (
	"context"
	"time"
)

// Run writes until ctx ends, and then writes the rest. Each word on wake says that something was counted: first writes what cannot wait, and
// after a period rest writes everything. The first that is counted starts the period; a ticker would wake an idle daemon for nothing.
func Run(ctx context.Context, wake <-chan struct{}, period time.Duration, first, rest func()) {
	var due <-chan time.Time
	for {
		select {
		case <-wake:
			first()
			if due == nil {
				due = time.After(period)
			}
		case <-due:
			due = nil
			rest()
		case <-ctx.Done():
			rest()
			return
		}
	}
}
