// Package status has the commands that show what happens: status, once or again and again, watch, a line for each event, and top, the
// screen of internal/top. They ask daemons and change nothing.
package status
