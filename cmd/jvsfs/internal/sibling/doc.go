// Package sibling lets the complete program take the place of this one. The ordinary jvsfs is built without the client of etcd, which is
// a third of the complete one and slows each short command down. jvsfs-etcd is the same program with it (build tag jvsfs_etcd).
//
// The process stays the same one: its number, its arguments, its environment and the descriptors that it inherited. So a service manager,
// mount(8) and who waits for a daemon notice nothing.
//
// It runs nothing that somebody else could have put there: the program and its directory belong to root or to the user of this process,
// and nobody else may write them. It does not look at the directories above. The complete program refuses to go on for a jvsfs of another
// version. Neither of the two can start the other again: the complete one starts none, and what was started so does not look for one.
package sibling
