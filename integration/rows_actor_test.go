package integration

import "path/filepath"

// The actor's side of rows: a box per row and tree, so that one actor can
// hold the handles of all rows of several trees at once.

func init() {
	actorOps["row.open"], actorOps["row.run"], actorOps["row.drop"] = opRowOpen, opRowRun, opRowDrop
}

// rowBoxes are those of the one actor that this process is.
var rowBoxes = map[string]*box{}

func rowKey(c command) string { return c.Path + "\x00" + c.Name }

// rowBox finds or makes the box of row Name in the tree Path.
func rowBox(c command) (row, *box, error) {
	r, found := findRow(c.Name)
	if !found {
		return row{}, nil, errNoHandle
	}
	key := rowKey(c)
	if rowBoxes[key] == nil {
		rowBoxes[key] = newBox(filepath.Join(c.Path, rowsDir, r.slug()))
	}
	return r, rowBoxes[key], nil
}

func opRowOpen(s *stage, c command) error {
	r, b, err := rowBox(c)
	if err != nil || r.open == nil {
		return err
	}
	return s.report(b, r.open(b))
}

func opRowRun(s *stage, c command) error {
	r, b, err := rowBox(c)
	if err != nil {
		return err
	}
	return s.report(b, r.run(b))
}

// report makes what a row counted the actor's answer.
func (s *stage) report(b *box, err error) error {
	s.vals, b.vals = append(s.vals, b.vals...), nil
	return err
}

func opRowDrop(_ *stage, c command) error {
	_, b, err := rowBox(c)
	if err == nil {
		b.drop()
		delete(rowBoxes, rowKey(c))
	}
	return err
}
