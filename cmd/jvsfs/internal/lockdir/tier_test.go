package lockdir

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/lease"
)

// Of a file system that several hosts use, doctor names the engine, the tier, and for how long a silent host keeps its lease.
func TestTheStoreOfSeveralHostsIsNamed(t *testing.T) {
	d := Dir{Path: "/proc", Name: "/srv/locks", Store: &api.StoreStatus{Engine: "GlusterFS", Tier: "C", SilentMS: 33_000}}
	f, err := tierOf(d)
	require.NoError(t, err)
	require.Equal(t, "tier.shared", f.ID)
	require.Equal(t, finding.SevWarn, f.Severity)
	for _, says := range []string{"/srv/locks", "GlusterFS", "tier C", "33s"} {
		require.Contains(t, f.Message, says)
	}
	d.NameCache = "performance/nl-cache"
	f, err = tierOf(d)
	require.NoError(t, err)
	require.Equal(t, finding.SevFail, f.Severity)
	require.Contains(t, f.Message, "performance/nl-cache")
	d.Store, d.NameCache = nil, ""
	f, err = tierOf(d)
	require.NoError(t, err)
	require.Contains(t, f.Message, "that several hosts may share", "nothing else is known of it")
}

// Leases in etcd are tier C, and B where the daemon that is asked has a fence agent. Without a daemon that is not known.
func TestLeasesInEtcdAreOfTheTierThatTheAgentMakes(t *testing.T) {
	store := &api.StoreStatus{Engine: "GlusterFS", Tier: "C", SilentMS: 30_000, Authority: "etcd [http://a:1], prefix /x"}
	for _, c := range []struct {
		store    *api.StoreStatus
		tier     string
		says     string
		severity string
	}{
		{store, "C", "tier C: a host that falls silent keeps its lease for 30s", finding.SevWarn},
		{store, "B", "the fence agent cuts that host off the store", finding.SevOK},
		{nil, "", "tier C where a mount has no fence agent", finding.SevWarn},
	} {
		if c.store != nil {
			c.store.Tier = c.tier
		}
		f := governedTier(Dir{Name: "/srv/locks", Store: c.store}, EtcdAuthority("/x"))
		require.Equal(t, "tier.etcd", f.ID)
		require.Equal(t, c.severity, f.Severity, c.tier)
		require.Contains(t, f.Message, c.says)
		require.Contains(t, f.Message, "/srv/locks")
	}
}

// The tier that doctor names is the one by which leases are judged.
func TestDoctorKnowsTheFileSystemsThatLeasesTrust(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/proc", "/dev", "/sys"} {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		shared := lease.SharedStore(fd)
		require.NoError(t, unix.Close(fd))
		f, err := tierOf(Dir{Path: dir, Name: dir})
		require.NoError(t, err)
		require.Equal(t, shared, f.ID == "tier.shared", dir)
	}
}
