//go:build jvsfs_torture

package main

import "github.com/jvsfs/jvsfs/integration/torture/wire"

// The torture test (integration/torture) kills, stops and misleads a daemon from inside. Only a build with this
// tag can do that.
func init() { wire.Up() }
