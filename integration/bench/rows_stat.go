package main

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const flatFiles = 5000

// flat makes a directory of small files.
func flat(b *box) error {
	return b.once("flat", func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		for i := range flatFiles {
			if err := os.WriteFile(path+"/f"+strconv.Itoa(i), buffer[:4<<10], 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

func statRows() []row {
	return []row{
		{"stat, cached", "stat", func(b *box) (job, error) { return statJob(b, 1000, 40, false) }},
		{"stat, cold", "stat", func(b *box) (job, error) { return statJob(b, flatFiles, 1, true) }},
		{"stat of absent names", "stat", absentJob},
	}
}

func statJob(b *box, files, passes int, cold bool) (job, error) {
	names := b.names("flat", "f%d", files)
	prepare := func() error { return statAll(names) }
	if cold {
		prepare = func() error { return b.chill("flat") }
	}
	run := func() (int, error) {
		for range passes {
			if err := statAll(names); err != nil {
				return 0, err
			}
		}
		return passes * files, nil
	}
	return job{prepare, run}, flat(b)
}

func statAll(names []*byte) error {
	var st unix.Stat_t
	for _, name := range names {
		if err := rawStat(name, &st); err != nil {
			return err
		}
	}
	return nil
}

// absentJob asks for names that are not there, as compilers do along search paths.
func absentJob(b *box) (job, error) {
	const passes = 4
	names := b.names("flat", "absent%d", flatFiles)
	run := func() (int, error) {
		var st unix.Stat_t
		for range passes {
			for _, name := range names {
				if err := rawStat(name, &st); !errors.Is(err, unix.ENOENT) {
					return 0, errors.Join(errors.New("an absent name is there"), err)
				}
			}
		}
		return passes * len(names), nil
	}
	return job{func() error { _, err := run(); return err }, run}, flat(b)
}
