// Package top draws mounts, holders and refusals live on a terminal, from the answers of daemons to status.
package top
