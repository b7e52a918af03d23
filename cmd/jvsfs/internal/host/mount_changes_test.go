package host

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A change is told once, also one from before the wait. Whoever waits sleeps until then, and ends with its context.
func TestChangesOfTheMountTableAreTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	c, err := WatchMounts()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	next := func() <-chan error {
		told := make(chan error, 1)
		go func() { told <- c.Wait(ctx) }()
		return told
	}
	dir := t.TempDir()
	mount := func() { require.NoError(t, unix.Mount("none", dir, "tmpfs", 0, "size=4k")) }
	unmount := func() { require.NoError(t, unix.Unmount(dir, 0)) }
	mount()
	require.NoError(t, <-next())
	told := next()
	unmount()
	require.NoError(t, <-told)
	told = next()
	runtime.Gosched()
	cancel()
	err = <-told
	require.True(t, err == nil || errors.Is(err, context.Canceled), err) // somebody else may have mounted meanwhile
	require.ErrorIs(t, c.Wait(ctx), context.Canceled)
	require.NoError(t, c.Close())
}
