// Package exporter is jvsfs exporter: it serves the metrics of all mounts at an address, by internal/exporter.
package exporter
