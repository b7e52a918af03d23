// Package docs writes the manual pages, the completions and the example of a configuration. The command is there only in a build with
// the tag jvsfs_docs, which the packager makes; elsewhere there is none.
package docs
