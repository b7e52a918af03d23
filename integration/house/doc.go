// Package house measures the structure of the code, and its tests hold that it does not grow beyond the budgets.
//
// What is above a budget today stands in the file figures with what it is. A figure only goes down: a test fails when the code is above
// it, and also when the code has become better and the figure still says the old. Then
//
//	go test ./integration/house/... -lower
//
// writes the new ones, and never a higher one: who must raise one does so by hand, and says why in the commit.
//
// The package promises nothing about how the program behaves, and counts no tests.
package house
