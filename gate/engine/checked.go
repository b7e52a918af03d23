//go:build !race

package engine

// Checked says that each acquisition is checked against the order.
const Checked = false

func outOfOrder(string) {} // nobody looks
