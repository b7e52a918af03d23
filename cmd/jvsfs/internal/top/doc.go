// Package top draws mounts, holders and refusals live on a terminal, from what daemons answer to
// status.
package top
