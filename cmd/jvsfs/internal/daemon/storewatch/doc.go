// Package storewatch is what a daemon does because its store may be served by a program or another machine: it sees when the store's client
// was started again, tells one store from another at the same path, and cuts this host off where writes hang beyond their lease. It decides
// nothing about leases, and never waits long for a store that does not answer.
package storewatch
