package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

const nameFiles = 4000

func nameRows() []row {
	return []row{
		{"create", "file", createJob},
		{"unlink", "file", unlinkJob},
		{"save by rename over", "save", saveJob},
	}
}

func createJob(b *box) (job, error) {
	names := b.names("names", "n%d", nameFiles)
	prepare := func() error {
		_, err := b.fresh("names")
		return errors.Join(err, b.settle())
	}
	return job{prepare, func() (int, error) { return len(names), createAll(names) }}, nil
}

func createAll(names []*byte) error {
	for _, name := range names {
		fd, err := rawOpen(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
		if err != nil {
			return err
		}
		rawClose(fd)
	}
	return nil
}

func unlinkJob(b *box) (job, error) {
	names := b.names("names", "n%d", nameFiles)
	prepare := func() error {
		_, err := b.fresh("names")
		return errors.Join(err, createAll(names), b.settle())
	}
	run := func() (int, error) {
		for _, name := range names {
			if err := rawUnlink(name); err != nil {
				return 0, err
			}
		}
		return len(names), nil
	}
	return job{prepare, run}, nil
}

// saveJob saves as editors do: the new content beside the old, then over it.
func saveJob(b *box) (job, error) {
	const saves = 2000
	names := b.names("names", "n%d", 100)
	temp := cstring(b.path("names", ".n.swp"))
	prepare := func() error {
		_, err := b.fresh("names")
		return errors.Join(err, createAll(names), b.settle())
	}
	run := func() (int, error) {
		for i := range saves {
			if err := save(temp, names[i%len(names)]); err != nil {
				return 0, err
			}
		}
		return saves, nil
	}
	return job{prepare, run}, nil
}

func save(temp, name *byte) error {
	fd, err := rawOpen(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	_, err = rawPwrite(fd, buffer[:4<<10], 0)
	rawClose(fd)
	if err != nil {
		return err
	}
	return rawRename(temp, name)
}
