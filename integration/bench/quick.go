package main

import (
	"slices"
	"time"
)

// quickBudget leaves a busy machine time to end the row that it is at.
const quickBudget = 35 * time.Second

// quickRows are short ones, of each kind of work: with two rounds they take a quarter of a minute on an idle machine.
func quickRows() []string {
	return []string{
		"sequential read 4 KiB, warm", "random read 4 KiB, cold", "sequential write 4 KiB, cold", "sequential write 128 KiB, cold",
		"stat, cached", "stat, cold", "stat of absent names", "open+read+close 4 KiB, warm", "open+read+close 4 KiB, cold",
		"create", "unlink", "save by rename over",
		"rm -rf", "find, warm", "find, cold", "grep -r, warm", "ls -lR, warm",
	}
}

func isQuickRow(name string) bool { return slices.Contains(quickRows(), name) }
