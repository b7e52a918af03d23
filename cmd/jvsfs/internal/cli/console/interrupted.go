package console

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// Interrupted adds what there is now to the failure of a command that was interrupted. Other errors stay as they
// are. now is asked for it; the command's own context is over.
func Interrupted(err error, now func(context.Context) string) error {
	f := api.AsFailure(err)
	if f == nil || f.Code != api.ExitInterrupted || f.Class != "" {
		return err
	}
	ctx, end := context.WithTimeout(context.Background(), waitsLookTimeout)
	defer end()
	told := *f
	if text := now(ctx); text != "" {
		told.Message = "interrupted: " + text
	}
	return &told
}

// InterruptedBy ends a wait for something that cannot be called off, which ends with this process.
func InterruptedBy[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		of  T
		err error
	}
	done := make(chan result, 1)
	go func() {
		of, err := do()
		done <- result{of, err}
	}()
	select {
	case r := <-done:
		return r.of, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
