package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutation is one clause of a rule, or of a promise, removed.
type mutation struct {
	Rule     int    // of lease/doc.go, 0: of none
	What     string // what the mutant does wrong, one line for people
	File     string // the file that is changed, from the module's root
	Old, New string // Old stands there exactly once
	Package  string
	Tests    []string // the tests that are run; one of them must fail
	Hangs    bool     // the mutant hangs: running into the time limit is being noticed, too
}

func (m mutation) String() string {
	if m.Rule == 0 {
		return "no rule  " + m.What
	}
	return fmt.Sprintf("rule %2d  %s", m.Rule, m.What)
}

// pattern is the tests for go test -run.
func (m mutation) pattern() string { return "^(" + strings.Join(m.Tests, "|") + ")$" }

// apply is the mutated text of the file. A snippet that moved or was copied must be looked at by a person.
func (m mutation) apply(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(b, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("%s: the snippet is %d times in %s, not once: the table has to follow the code:\n%s", m, n, m.File, m.Old)
	}
	return bytes.Replace(b, []byte(m.Old), []byte(m.New), 1), nil
}

func allMutations() []mutation {
	return slices.Concat(claimMutations, clockMutations, endMutations, lossMutations, adoptMutations, followMutations, hostileMutations, renameMutations, sweepMutations, fileLockMutations, credentialMutations, adopterMutations, lineMutations, goOnMutations, gitMutations, lockFileMutations, snapshotMutations, partMutations, cutOffMutations, reclaimMutations, etcdMutations)
}

// in are mutations of one file, noticed by tests of its own package.
func in(file string, list ...mutation) []mutation {
	for i := range list {
		list[i].File = file
		if list[i].Package == "" {
			list[i].Package = "./" + filepath.Dir(file)
		}
	}
	return list
}
