package cli

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
)

// Program is a run of jvsfs: its streams, and what the process was started with.
type Program struct {
	console.Streams
	started sibling.Start
}
