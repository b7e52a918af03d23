package mountcfg

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxFileSize bounds a configuration file in bytes; a real one has a few hundred.
const maxFileSize = 256 << 10

// Load reads a configuration file over the defaults and validates the result.
//
// A mistake in the file is a *FileError (or several, joined) with file, line and column. Other
// errors are those of the operating system or of Validate. Relative paths in the file are relative
// to the directory of the file. The checks say what is wrong with rules beyond their shape.
func Load(path string, checks ...RuleCheck) (Config, error) {
	c, err := loadFile(path, checks...)
	if err == nil {
		c.implyReadonly()
		err = c.Validate()
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// loadFile does not validate: flags may still add what the file lacks.
func loadFile(path string, checks ...RuleCheck) (Config, error) {
	data, err := readBounded(path)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	abs, err := absolute(path, "")
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return parse(path, filepath.Dir(abs), data, checks...)
}

func readBounded(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileSize)
	}
	return data, nil
}
