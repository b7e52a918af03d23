package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const buildPackages = 60

func buildRows() []row { return []row{{"go build", "package", buildJob}} }

// buildJob compiles a program of some packages after a change to the one that all
// others import. The compiler's cache lies outside of the target, as it does for users.
func buildJob(b *box) (job, error) {
	stamp := 0
	prepare := func() error {
		stamp++
		return errors.Join(writeStamp(b.path("program"), b.Target, stamp), b.settle())
	}
	build := func() (int, error) {
		return buildPackages, tool(b.path("program"), "go", "build", "-buildvcs=false", "-o", "program", ".")
	}
	err := b.once("program", writeProgram)
	if err == nil {
		_, err = build() // the standard library goes into the cache
	}
	return job{prepare, build}, err
}

func writeStamp(dir, target string, n int) error {
	text := fmt.Sprintf("package base\n\n// Stamp changes.\nconst Stamp = \"%s %d %d\"\n", target, n, os.Getpid())
	return os.WriteFile(filepath.Join(dir, "base", "stamp.go"), []byte(text), 0o644)
}

func writeProgram(dir string) error {
	files := map[string]string{"go.mod": "module program\n\ngo 1.21\n", "base/base.go": "package base\n"}
	imports, calls := "", ""
	for i := range buildPackages {
		imports += fmt.Sprintf("\t\"program/p%d\"\n", i)
		calls += fmt.Sprintf("\tfmt.Println(p%d.Text())\n", i)
		files[fmt.Sprintf("p%d/p.go", i)] = fmt.Sprintf("package p%d\n\nimport \"program/base\"\n\nfunc Text() string { return base.Stamp + suffix() }\n", i)
		files[fmt.Sprintf("p%d/suffix.go", i)] = fmt.Sprintf("package p%d\n\nfunc suffix() string { return \" of %d\" }\n", i, i)
	}
	files["main.go"] = "package main\n\nimport (\n\t\"fmt\"\n" + imports + ")\n\nfunc main() {\n" + calls + "}\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return writeStamp(dir, "first", 0)
}
