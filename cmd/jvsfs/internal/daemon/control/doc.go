// Package control is the server of a mount's control socket: who is at the other end, what is asked by which release, who may ask it, and how
// the answer comes back. What an operation does is in the row that its owner gives; the server lets in nothing that the table does not have,
// bounds the connections of a user, and ends a session when its client has gone.
package control
