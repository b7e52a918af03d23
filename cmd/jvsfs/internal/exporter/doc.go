// Package exporter gathers the metrics of all mounts of the machine. It asks each daemon for the metrics that
// the daemon itself defines, adds the mount point to their labels, and says of each mount whether it serves.
package exporter
