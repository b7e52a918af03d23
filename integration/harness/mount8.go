package harness

import "strings"

// Options are what this mount wants in a test; more are added to them.
func (m *Mount) Options(more ...string) string {
	all := []string{"control=" + m.LockDir, "log_file=" + m.LogFile(), "lease_duration_ms=30000", "renew-interval=10s"}
	return strings.Join(append(all, more...), ",")
}
