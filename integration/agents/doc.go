// Package agents tests the fence agents that are shipped (scripts/fence) against the control planes of their stores: a Redis of its own
// with the keys of JuiceFS. Of Gluster, Ceph and MooseFS a program that answers as theirs takes
// the place; integration/hosts has the real ones.
package agents
