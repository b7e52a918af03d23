// Package place is where a source or worktree is, and where its records are: a repository, a
// worktree or a plain directory, the lock directory of it, the directory that records were made
// for, and the locks that keep one directory from being served with two sets of records.
package place
