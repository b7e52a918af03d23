package operation

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// Serve is the whole life of a process that does as it is told: it performs commands, one a line, until its input
// ends. It keeps descriptors and mappings between them, in a box for each directory that the commands name.
func Serve(in io.Reader, out io.Writer) error {
	boxes := map[string]*Box{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var c Command
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err == nil {
			if boxes[c.Dir] == nil {
				boxes[c.Dir] = NewBox(c.Dir)
			}
			err = json.NewEncoder(out).Encode(boxes[c.Dir].Perform(c))
		}
		if err != nil {
			return err
		}
	}
}
