//go:build jvsfs_docs

// Package pages has the manual pages that belong to no command, as they are read on the web. Their lists of keys and options come from the
// table of the configuration. internal/cli/docs makes manual pages of them; no other build has them in it.
package pages

import "embed"

// Files are the pages.
//
//go:embed *.md
var Files embed.FS
