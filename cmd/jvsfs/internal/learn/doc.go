// Package learn watches what a program does with its files, and proposes rules for the lock files that it uses.
//
// Watch serves a directory to one thread and what it starts, and notes each change of it. Find and Text are functions
// of what was noted: they do no I/O. What is proposed is a guess for a person to read, and says what it rests on.
package learn
