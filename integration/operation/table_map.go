package operation

import "golang.org/x/sys/unix"

const readWrite = unix.PROT_READ | unix.PROT_WRITE

// These map files. A store is no system call: it is refused when its page is written back.
func init() {
	add(map[string]operation{
		"mmap": {"handle keepas len", func(b *Box, c Command) (err error) {
			m, err := unix.Mmap(b.FD(c.Handle), 0, int(c.Len), readWrite, unix.MAP_SHARED)
			if err == nil {
				b.maps[c.Name] = m
			}
			return err
		}},
		"store": {"other data", func(b *Box, c Command) error {
			m, err := b.mapping(c.Name)
			if err == nil {
				copy(m[c.Off:], c.Data)
			}
			return err
		}},
		"msync": {"other", func(b *Box, c Command) error { // of all of it, or of the part that is named
			m, err := b.mapping(c.Name)
			if err == nil && c.Len > 0 {
				m = m[c.Off:][:c.Len]
			}
			if err == nil {
				err = unix.Msync(m, unix.MS_SYNC)
			}
			return err
		}},
		"munmap": {"other", func(b *Box, c Command) error {
			m, err := b.mapping(c.Name)
			if err != nil {
				return err
			}
			delete(b.maps, c.Name)
			return unix.Munmap(m)
		}},
		"mapwrite": {"handle off data name=sync", mapWrite},
		"mapread":  {"handle off len share=shared", mapRead},
	})
}

// mapWrite stores through a mapping of its own, and synchronises it: Name is sync, async or none.
func mapWrite(b *Box, c Command) (err error) {
	page := c.Off &^ 4095
	m, err := unix.Mmap(b.FD(c.Handle), page, int(c.Off-page)+len(c.Data), readWrite, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer func() { // also after a store that was answered with a signal
		if e := unix.Munmap(m); err == nil {
			err = e
		}
	}()
	copy(m[c.Off-page:], c.Data)
	switch c.Name {
	case "sync":
		err = unix.Msync(m, unix.MS_SYNC)
	case "async":
		err = unix.Msync(m, unix.MS_ASYNC)
	}
	return err
}

func mapRead(b *Box, c Command) error {
	m, err := unix.Mmap(b.FD(c.Handle), c.Off, int(c.Len), unix.PROT_READ, c.Flags)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(m) }()
	b.Data = append(b.Data, m...)
	return nil
}
