package main

import (
	"os"
)

// release is what the packager calls this build: -ldflags "-X main.release=1.2.3".
var release string

func main() { os.Exit(int(start(release))) }
