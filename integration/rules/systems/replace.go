package systems

import (
	"errors"
	"os"
	"path/filepath"
)

// What replace does besides.
const (
	durably = 1 << iota // fsync of the file, and of its directory afterwards
)

// replace writes a temporary file and renames it to the name: openat O_RDWR|O_CREAT|O_EXCL 0600, write, fchmod, fsync,
// close, renameat.
func replace(name, pattern, text string, how int) error {
	f, err := os.CreateTemp(filepath.Dir(name), pattern)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644))
	if how&durably != 0 {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if how&durably != 0 {
		return syncDir(filepath.Dir(name))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
