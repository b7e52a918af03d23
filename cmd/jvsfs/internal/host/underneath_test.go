package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The private namespace ends: the main thread, which does not, is never in it.
func TestUnderneathLeavesNoNamespaceBehind(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	own, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	for range 50 {
		require.NoError(t, Underneath("/", func() error {
			inside, err := os.Readlink("/proc/thread-self/ns/mnt")
			require.NotEqual(t, own, inside)
			require.NotEqual(t, unix.Getpid(), unix.Gettid())
			return err
		}))
	}
	require.Eventually(t, func() bool {
		all, _ := filepath.Glob("/proc/self/task/*/ns/mnt")
		for _, ns := range all {
			if is, err := os.Readlink(ns); err == nil && is != own {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}
