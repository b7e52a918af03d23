// Package child runs CMD for the commands that end in "-- CMD": exec, quiesce and rules open. CMD begins as a trampoline, this program
// with a hidden command, which becomes CMD when it is told to. So a lease is bound to CMD before CMD runs.
//
// CMD does not outlive the process that started it, and gives the terminal back. Signals are heard and passed on by whoever starts a child:
// this package only sends them.
package child
