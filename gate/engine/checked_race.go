//go:build race

package engine

// checked says that each acquisition is checked against the order.
const checked = true
