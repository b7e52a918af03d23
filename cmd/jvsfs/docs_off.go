//go:build !jvsfs_docs

package main

import "github.com/spf13/cobra"

// docsCommands: see docs.go.
func docsCommands(func() *cobra.Command) []*cobra.Command { return nil }
