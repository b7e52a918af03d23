// Package api is what commands and daemons say to each other, and to scripts: the control
// protocol with its requests and answers, every type that is printed as JSON by more than one
// command, failures with their classes, and exit codes.
//
// The names in the JSON are a promise (promises_test.go of cmd/jvsfs).
package api
