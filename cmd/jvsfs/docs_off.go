//go:build !jvsfs_docs

package main

import "github.com/spf13/cobra"

// docsCommands: see docs.go.
func docsCommands(stdio) []*cobra.Command { return nil }
