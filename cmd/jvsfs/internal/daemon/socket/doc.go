// Package socket makes Unix sockets with a mode, in a place where something may be already, and takes them away again unless another one
// has come there. It reads and writes nothing.
package socket
