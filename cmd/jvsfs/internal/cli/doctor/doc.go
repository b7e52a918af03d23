// Package doctor is jvsfs doctor: it asks internal/doctor for what is wrong, prints it, and has it repaired where --repair says so. The
// checks are there.
package doctor
