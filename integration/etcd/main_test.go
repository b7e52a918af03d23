//go:build jvsfs_hosts

// Stories of hosts whose leases are kept in etcd. A host is a set of namespaces (mount, UTS, pid, time) with a name, a boot id and a
// boot clock of its own, and jvsfs over a tree that all hosts see. Each has a way of its own to etcd, which can be cut.
//
//	scripts/hosts-test.sh --engine etcd
//	go test -tags jvsfs_hosts ./integration/etcd
package etcd

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
