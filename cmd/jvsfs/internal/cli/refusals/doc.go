// Package refusals asks the daemons which writes were refused a short while ago, and makes one entry of those that are alike. exec, its
// notifier and explain print them.
package refusals
