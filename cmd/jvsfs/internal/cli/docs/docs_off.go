//go:build !jvsfs_docs

package docs

import "github.com/spf13/cobra"

// Commands are none in this build: see docs.go.
func Commands(func() *cobra.Command) []*cobra.Command { return nil }
