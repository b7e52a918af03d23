// Package paths says where a path of a mount leads, and whether a process may write there: by the names of worktrees, by the links on the
// way, and by the modes of the backing files. It looks and changes nothing, and knows of no lease. What it says of a path may have changed
// when it has said it.
package paths
