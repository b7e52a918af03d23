// Package changes compares a directory tree before and after something: which names were added, removed and
// renamed, and which files changed. It looks at names, inodes and attributes, and reads no content. The tree as it
// was lies in a temporary file without a name, so a large tree needs little memory. What it looks for in memory,
// renames, is bounded.
package changes
