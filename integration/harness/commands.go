package harness

import "golang.org/x/sys/unix"

// Put is one whole write attempt that makes the file if need be.
func (m *Mount) Put(rel ...string) Command {
	return Command{Op: "writefile", Path: m.At(rel...), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("put")}
}

// Move is a rename within the mount.
func (m *Mount) Move(from, to string) Command {
	return Command{Op: "rename", Path: m.At(from), To: m.At(to)}
}
