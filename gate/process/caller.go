package process

// Caller is what the kernel says about the process behind a request: its thread id in the daemon's
// pid namespace (0: not visible there) and its file system ids.
type Caller struct {
	TID      uint32
	UID, GID uint32
}
