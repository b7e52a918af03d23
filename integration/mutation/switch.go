package main

import "fmt"

const (
	switchVar      = "JVSFS_MUTANT" // in the environment of the tests: the number of the mutant that is in force
	switchFileName = "jvsfs_mutant_switch.go"
)

// switchFile is added to each package that has mutants. Its variable is set before a function with mutants can be called for another
// variable of the package: the compiler orders them by what refers to what.
func switchFile(pkg string) string {
	return fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
)

var %s = func() int {
	said := os.Getenv(%q)
	if said == "" {
		return 0
	}
	number, err := strconv.Atoi(said)
	if err != nil {
		panic(err)
	}
	return number
}()
`, pkg, switchName, switchVar)
}
