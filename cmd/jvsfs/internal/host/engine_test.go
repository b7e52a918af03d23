package host

import (
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

func TestEngineOf(t *testing.T) {
	for want, m := range map[string]*mountinfo.Info{
		"GlusterFS": {FSType: "fuse.glusterfs", Source: "server:v"}, "NFS": {FSType: "nfs4"}, "MooseFS": {FSType: "fuse", Source: "mfs#master:9421"},
		"": {FSType: "fuse.mergerfs"},
	} {
		require.Equal(t, want, EngineOf(m), "%+v", m)
	}
	for _, local := range []string{"ext4", "tmpfs", "overlay", "fuse", FSType} {
		require.Empty(t, EngineOf(&mountinfo.Info{FSType: local}), local)
	}
	require.Empty(t, EngineOf(nil))
}
