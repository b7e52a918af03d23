package integration

import "path/filepath"

// The actor's side of rows: a box per row and tree, so that one actor can
// hold the handles of all rows of several trees at once.

func rowKey(c command) string { return c.Path + "\x00" + c.Name }

// box finds or makes the box of row Name in the tree Path.
func (s *stage) rowBox(c command) (row, *box, error) {
	r, found := findRow(c.Name)
	if !found {
		return row{}, nil, errNoHandle
	}
	key := rowKey(c)
	if s.rows[key] == nil {
		s.rows[key] = newBox(filepath.Join(c.Path, rowsDir, r.slug()))
	}
	return r, s.rows[key], nil
}

func opRowOpen(s *stage, c command) error {
	r, b, err := s.rowBox(c)
	if err != nil || r.open == nil {
		return err
	}
	return r.open(b)
}

func opRowRun(s *stage, c command) error {
	r, b, err := s.rowBox(c)
	if err != nil {
		return err
	}
	return r.run(b)
}

func opRowDrop(s *stage, c command) error {
	_, b, err := s.rowBox(c)
	if err == nil {
		b.drop()
		delete(s.rows, rowKey(c))
	}
	return err
}
