// Package flags has the flags that several commands share, and what comes of them: where records are and under which policy, and the
// settings of a mount. A flag of one command stands with the command.
package flags
