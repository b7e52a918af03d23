package fence

import (
	"path/filepath"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The actor's side of rows: a box per row and tree, so that one actor can
// hold the handles of all rows of several trees at once.

func init() {
	harness.ActorOps["row.open"], harness.ActorOps["row.run"], harness.ActorOps["row.drop"] = opRowOpen, opRowRun, opRowDrop
}

// rowBoxes are those of the one actor that this process is.
var rowBoxes = map[string]*harness.Box{}

func rowKey(c harness.Command) string { return c.Path + "\x00" + c.Name }

// rowBox finds or makes the box of row Name in the tree Path.
func rowBox(c harness.Command) (row, *harness.Box, error) {
	r, found := findRow(c.Name)
	if !found {
		return row{}, nil, harness.ErrNoHandle
	}
	key := rowKey(c)
	if rowBoxes[key] == nil {
		rowBoxes[key] = harness.NewBox(filepath.Join(c.Path, rowsDir, r.slug()))
	}
	return r, rowBoxes[key], nil
}

func opRowOpen(s *harness.Stage, c harness.Command) error {
	r, b, err := rowBox(c)
	if err != nil || r.open == nil {
		return err
	}
	return report(s, b, r.open(b))
}

func opRowRun(s *harness.Stage, c harness.Command) error {
	r, b, err := rowBox(c)
	if err != nil {
		return err
	}
	return report(s, b, r.run(b))
}

// report makes what a row counted the actor's answer.
func report(s *harness.Stage, b *harness.Box, err error) error {
	s.Vals, b.Vals = append(s.Vals, b.Vals...), nil
	return err
}

func opRowDrop(_ *harness.Stage, c harness.Command) error {
	_, b, err := rowBox(c)
	if err == nil {
		b.Drop()
		delete(rowBoxes, rowKey(c))
	}
	return err
}
