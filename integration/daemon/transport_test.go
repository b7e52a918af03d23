package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestTransportIsShownByStatus: status says how a mount gets its requests, and a recovered mount gets them in the same way.
func TestTransportIsShownByStatus(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow"})
	requireTransport(m)
	m.KillDaemon()
	m.Recover()
	requireTransport(m)
}

// TestTransportAutoUsesUringWhereItIsOn: without io_uring the mount gets its requests by /dev/fuse, and the log, status and doctor
// say why, in the same words.
func TestTransportAutoUsesUringWhereItIsOn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f"), Extra: []string{"--transport", "auto"}})
	a := harness.StartActor(t, "a")
	a.OK(m.Put("f"))
	got := transportOf(m)
	all, _, _ := m.Doctor()
	said := all.Of("kernel.uring", "")
	require.Len(t, said, 1)
	logged := strings.Count(harness.ReadText(t, m.LogFile()), "requests come by /dev/fuse")
	if harness.RingIsOn() {
		require.Equal(t, "uring", got.Name)
		require.Empty(t, got.Why)
		require.Zero(t, logged)
		require.Equal(t, "transport auto takes io_uring", said[0].Message)
		return
	}
	require.Equal(t, "dev", got.Name)
	require.NotEmpty(t, got.Why)
	require.Equal(t, 1, logged, "once for a mount")
	require.Contains(t, harness.ReadText(t, m.LogFile()), got.Why)
	require.Contains(t, said[0].Message, "transport auto takes /dev/fuse: "+got.Why)
}

// TestTransportUringIsUsedOrNothingIsMounted: who asks for io_uring gets it, or no mount.
func TestTransportUringIsUsedOrNothingIsMounted(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "allow"})
	m.WasMounted = harness.RingIsOn()
	m.Mounted = m.WasMounted
	_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile(), "--transport", "uring")
	if harness.RingIsOn() {
		require.Zero(t, exit, errs)
		require.Equal(t, "uring", transportOf(m).Name)
		return
	}
	require.NotZero(t, exit)
	require.Contains(t, errs, "FUSE over io_uring cannot be had")
	require.Empty(t, stack(m))
}

type transport struct {
	Name, Why               string
	Threads, Memory, Pinned int64
}

func transportOf(m *harness.Mount) transport {
	m.T.Helper()
	var all struct {
		Mounts []struct{ Statistics struct{ Transport transport } }
	}
	harness.RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	require.Len(m.T, all.Mounts, 1)
	return all.Mounts[0].Statistics.Transport
}

func requireTransport(m *harness.Mount) {
	m.T.Helper()
	got := transportOf(m)
	if harness.OnRing() {
		require.Equal(m.T, "uring", got.Name)
		require.Positive(m.T, got.Threads)
		require.Positive(m.T, got.Memory)
		require.Equal(m.T, got.Threads*2*int64(os.Getpagesize()), got.Pinned)
		return
	}
	require.Equal(m.T, "dev", got.Name)
	require.Zero(m.T, got.Threads)
	require.Zero(m.T, got.Memory)
	require.Zero(m.T, got.Pinned)
}
