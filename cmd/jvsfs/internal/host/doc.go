// Package host is the machine as jvsfs sees it: the mount table and other mount namespaces, processes and who
// keeps a mount busy, paths without a walk into a dead mount, and the files of daemons in /run/jvsfs. Nothing
// here knows package daemon.
package host
