package main

import (
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli"
)

// release is what the packager calls this build: -ldflags "-X main.release=1.2.3".
var release string

func main() { os.Exit(int(cli.Main(release))) }
