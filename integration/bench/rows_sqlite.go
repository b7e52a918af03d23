package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func sqliteRows() []row {
	return []row{
		{"sqlite, 50,000 inserts at once", "insert", func(b *box) (job, error) { return insertJob(b, 50000, true) }},
		{"sqlite, 200 inserts one by one", "insert", func(b *box) (job, error) { return insertJob(b, 200, false) }},
	}
}

func insertJob(b *box, n int, together bool) (job, error) {
	script, err := insertScript(b, n, together)
	prepare := func() error {
		_, err := b.fresh("sqlite")
		return errors.Join(err, b.settle())
	}
	run := func() (int, error) { return n, toolInput(b.path("sqlite"), script, "sqlite3", "-batch", "db") }
	return job{prepare, run}, err
}

func insertScript(b *box, n int, together bool) (string, error) {
	var s strings.Builder
	s.WriteString("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value INTEGER);\n")
	if together {
		s.WriteString("BEGIN;\n")
	}
	for i := range n {
		fmt.Fprintf(&s, "INSERT INTO t (name, value) VALUES ('the name of row %d', %d);\n", i, i*7919)
	}
	if together {
		s.WriteString("COMMIT;\n")
	}
	path := filepath.Join(b.Scratch, fmt.Sprintf("inserts%d.sql", n))
	return path, os.WriteFile(path, []byte(s.String()), 0o644)
}
