// Package layout is jvsfs layout: which guard each path has. It only reads.
package layout
