package record

import "fmt"

// maxIDLength keeps every file name of a worktree far below NAME_MAX.
const maxIDLength = 128

// WorktreeID names a worktree. It is one path component of a safe alphabet. Only [ParseWorktreeID] checks that.
type WorktreeID string

// ParseWorktreeID accepts 1..128 bytes of [A-Za-z0-9._-] except "." and "..". Its error is an [*Error] of class
// [ClassBadWorktreeID].
func ParseWorktreeID(s string) (WorktreeID, error) {
	if why := badID(s); why != "" {
		return "", &Error{
			Class:   ClassBadWorktreeID,
			Message: fmt.Sprintf("%.140q is not a worktree id: %s", s, why),
			Next:    "use 1 to 128 characters of A-Z a-z 0-9 . _ -",
		}
	}
	return WorktreeID(s), nil
}

func badID(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case len(s) > maxIDLength:
		return fmt.Sprintf("it has %d bytes, more than %d", len(s), maxIDLength)
	case s == "." || s == "..":
		return "it means a directory"
	}
	for i := range len(s) {
		if !safeByte(s[i]) {
			return fmt.Sprintf("byte %d is %q", i, s[i])
		}
	}
	return ""
}

func safeByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-'
}
