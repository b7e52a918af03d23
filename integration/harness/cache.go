package harness

import (
	"encoding/json"
	"os"

	"github.com/stretchr/testify/require"
)

// Requests asks the daemon how many requests of a kind have reached it.
func (m *Mount) Requests(kind string) (n uint64) {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Statistics struct{ Requests map[string]uint64 }
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &all))
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			return one.Statistics.Requests[kind]
		}
	}
	m.T.Fatalf("status does not show %s", m.Mountpoint)
	return 0
}

// Lookups is what a number of looks at a path costs in LOOKUP requests.
func (m *Mount) Lookups(path string, looks int) uint64 {
	m.T.Helper()
	before := m.Requests("Lookup")
	for range looks {
		_, _ = os.Lstat(path)
	}
	return m.Requests("Lookup") - before
}

// Looks is how often Lookups looks at a path.
const Looks = 5

// CacheOptions are the options of a mount whose kernel caches last for timeout.
func CacheOptions(timeout string, more ...string) MountOptions {
	return MountOptions{OnFree: "deny", Prepare: WithFiles("f", "g"), Extra: append([]string{"--cache-timeout", timeout}, more...)}
}
