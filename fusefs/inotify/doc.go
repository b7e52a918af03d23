// Package inotify is a client of inotify(7): watches, their events, and a barrier for whoever has to know all that has happened so far.
//
// It starts no goroutine: whoever calls Next reads, and one goroutine does. Between two calls nobody is woken for an event. It
// does not decide what is watched, nor what an event means, and it does not hide that the kernel may lose events (IN_Q_OVERFLOW).
package inotify
