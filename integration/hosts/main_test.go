//go:build jvsfs_hosts

// Stories of several hosts on a distributed file system that is a real one. A host is a set of namespaces (network, mount, UTS,
// pid, time) with an address, a name, a boot id and a boot clock of its own; it has a client of the store, and jvsfs over that.
// The store is a set of namespaces, too, with its servers. Everything ends with the process namespace of the test run.
//
//	scripts/hosts-test.sh                        everything: the stories, then chaos
//	scripts/hosts-test.sh --quick                what scripts/test.sh runs
//	JVSFS_HOSTS_ENGINE=moosefs go test -tags jvsfs_hosts ./integration/hosts
//
// A partition is the host's link taken down at the store's end. A frozen host is one whose client of the store is stopped.
package hosts

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
