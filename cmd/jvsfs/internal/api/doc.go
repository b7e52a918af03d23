// Package api has what commands, daemons and scripts exchange: the control protocol with its requests and
// answers, the JSON types that more than one command prints, failures with their classes, and exit codes.
//
// The names in the JSON are a promise (promises_test.go of cmd/jvsfs).
package api
