package main

import "runtime/debug"

// release is what the packager calls this build: -ldflags "-X main.release=1.2.3".
var release string

// version names this build for a person: the release, or what the go command knows
// of where it was built.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
