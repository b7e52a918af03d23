// Package layout says which guard stands over a place: over a name in a directory, and over
// what lies there.
//
// A [Layout] is a table of names. It does no I/O and remembers nothing. The file system tells
// it what a directory is to the layout (its [Role]) and a name in it, and gets an [Entry]:
// who judges a change of the name, who judges what lies there, and what the directory of that
// name is to the layout in its turn. What has no rule of its own is judged as the directory
// that it lies in. [Layout.Of] does the same for a whole path.
//
// Which layout a source has, [Choose] decides from [Marks]: what somebody has seen in the
// source's root.
//
// The package knows no leases and no writers: the gate asks those.
package layout
