package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestTransportInStatus: status says how a mount gets its requests, and a recovered mount gets them in the same way.
func TestTransportInStatus(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow"})
	requireTransport(m)
	m.KillDaemon()
	m.Recover()
	requireTransport(m)
}

func requireTransport(m *harness.Mount) {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Statistics struct {
				Transport struct {
					Name            string
					Threads, Memory int64
				}
			}
		}
	}
	harness.RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	require.Len(m.T, all.Mounts, 1)
	got := all.Mounts[0].Statistics.Transport
	if harness.Transport() == "uring" {
		require.Equal(m.T, "uring", got.Name)
		require.Positive(m.T, got.Threads)
		require.Positive(m.T, got.Memory)
		return
	}
	require.Equal(m.T, "dev", got.Name)
	require.Zero(m.T, got.Threads)
	require.Zero(m.T, got.Memory)
}
