package main

import "golang.org/x/sys/unix"

func smallRows() []row {
	return []row{
		{"open+read+close 4 KiB, warm", "file", func(b *box) (job, error) { return smallJob(b, 2000, 4, false) }},
		{"open+read+close 4 KiB, cold", "file", func(b *box) (job, error) { return smallJob(b, flatFiles, 1, true) }},
	}
}

func smallJob(b *box, files, passes int, cold bool) (job, error) {
	names := b.names("flat", "f%d", files)
	prepare := func() error { return readAll(names) }
	if cold {
		prepare = func() error { return b.chill("flat") }
	}
	run := func() (int, error) {
		for range passes {
			if err := readAll(names); err != nil {
				return 0, err
			}
		}
		return passes * files, nil
	}
	return job{prepare, run}, flat(b)
}

func readAll(names []*byte) error {
	for _, name := range names {
		fd, err := rawOpen(name, unix.O_RDONLY)
		if err != nil {
			return err
		}
		_, err = rawPread(fd, buffer[:8<<10], 0)
		rawClose(fd)
		if err != nil {
			return err
		}
	}
	return nil
}
