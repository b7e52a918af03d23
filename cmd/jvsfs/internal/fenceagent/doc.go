// Package fenceagent runs the program that cuts another host off the store, as cluster managers run their fence agents: one line
// NAME=VALUE for each argument on the standard input, and exit code 0 alone says that it is done. So the programs fence_* of a cluster
// can be used. (FenceAgentAPI of ClusterLabs.)
//
// It also finds out what a store calls its client here, which is what such a program has to cut off.
package fenceagent
