// Package rules is jvsfs rules: those in force, the presets, a try of rules that are not in force yet, rules learned from a command, and
// what a person may do past a rule: break a lock, open a window.
package rules
