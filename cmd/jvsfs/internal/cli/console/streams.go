package console

import (
	"fmt"
	"io"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// Streams are the streams of a command.
type Streams struct {
	In       *os.File
	Out, Err io.Writer
}

// Note prints notes of the daemon to people.
func Note(io Streams) func(string) {
	return func(s string) { fmt.Fprintf(io.Err, "jvsfs: %s\n", human.Printable(s)) }
}
