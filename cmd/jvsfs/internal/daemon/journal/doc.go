// Package journal keeps a file for the next daemon after a kill: which leases are held, who is out because he lost one, and which daemons
// follow this one. It may be older than the truth and is never ahead of it; whether its leases may go on is for who reads it.
package journal
