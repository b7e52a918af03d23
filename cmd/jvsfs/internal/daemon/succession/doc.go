// Package succession is how one daemon comes after another: how a mount appears, at its own place or in that of a dead or a replaced one
// (Arrival), which replaced daemons still live (Predecessors), and how this one is replaced in its turn (Retirement). Of the leases, the file
// system and the rules it knows what it asks of them.
package succession
