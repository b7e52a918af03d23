// Package machine makes hosts on one machine: each is a set of namespaces (mount, UTS, pid, time, and of the network where that is
// wanted) with a name, a boot id and a boot clock of its own. A host ends with its test, and everything in it with the host.
package machine
