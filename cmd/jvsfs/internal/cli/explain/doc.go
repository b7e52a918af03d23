// Package explain is jvsfs explain: why a write would be refused at a path, or which writes were refused, and what to do. It asks, and
// changes nothing.
package explain
