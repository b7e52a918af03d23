// Package metrics counts what no other part of a daemon counts, makes the metrics of a mount from all counters for each scrape, and serves
// them over HTTP. Names and labels are a promise. It reads the rest of the daemon through Sources, and changes nothing there but the counts
// of worktrees that are over.
package metrics
