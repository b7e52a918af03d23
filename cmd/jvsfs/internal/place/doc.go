// Package place finds a source or worktree and its records: whether it is a repository, a worktree or a plain
// directory; its lock directory; the directory for which records were made; and the locks that keep one
// directory from being served with two sets of records.
package place
