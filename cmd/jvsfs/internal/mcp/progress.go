package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressInterval is how often a call that waits says that it lives. Clients end calls that are silent, usually
// after a minute, and start anew at each progress.
const progressInterval = 5 * time.Second

// waiting tells the client from time to time that the call waits, if it wants to know, until stop is called.
func (c call) waiting(ctx context.Context, what string) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var run sync.WaitGroup
	run.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for start := time.Now(); ; {
			// A client that does not take it does not want to know.
			_ = c.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token, Message: what, Progress: time.Since(start).Seconds(),
			})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		run.Wait()
	}
}
