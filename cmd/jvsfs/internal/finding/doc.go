// Package finding is what a check says: what is the matter, why that matters and how to repair
// it. Doctor reports findings, and so do daemons for the lock directories that they hide.
package finding
