// Package host is the machine as jvsfs sees it: the mount table and other mount namespaces,
// processes and who keeps a mount busy, paths that must not be walked through a dead mount, and
// the files that daemons keep in /run/jvsfs. Nothing here knows a daemon.
package host
