// Package audit is jvsfs audit: it verifies the audit chain of a worktree or a repository, and shows its end, also as it grows. It only
// reads.
package audit
