package learn

import (
	"fmt"
	"sync"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// EventsMax bounds what is kept of a long run.
const EventsMax = 200_000

// notes are the events so far.
type notes struct {
	mu     sync.Mutex
	events []Event
	lost   bool
	flocks map[fs.FileHandle]uint64
	last   uint64
}

func (n *notes) add(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost = len(n.events) >= EventsMax; !n.lost {
		n.events = append(n.events, e)
	}
}

// Watch serves dir to what run starts, notes what is changed there, and returns it. The calling thread must end
// afterwards, and have been locked before: it gets a mount namespace of its own. All others see dir as it is.
func Watch(dir string, run func() error) (events []Event, all bool, err error) {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, false, fmt.Errorf("a private copy of the mounts: %w", err)
	}
	// This comes first: shared mounts would propagate the mount to everybody.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, false, fmt.Errorf("make the copy of the mounts private: %w", err)
	}
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return nil, false, err
	}
	n := &notes{flocks: map[fs.FileHandle]uint64{}}
	loop := root.(*fs.LoopbackNode)
	watched := &node{LoopbackNode: loop, notes: n}
	loop.RootData.RootNode = watched
	// The loop that serves ends with the mount, at the latest with this process. It is on threads that see dir as it is.
	_, err = fs.Mount(dir, watched, &fs.Options{MountOptions: fuse.MountOptions{
		AllowOther: true, EnableLocks: true, DirectMountStrict: true, FsName: dir, Name: "jvsfs-learn",
		Options: []string{"default_permissions"},
	}})
	if err != nil {
		return nil, false, fmt.Errorf("mount on %s: %w", dir, err)
	}
	err = run()
	if uerr := unix.Unmount(dir, unix.MNT_DETACH); err == nil && uerr != nil {
		err = fmt.Errorf("umount %s: %w", dir, uerr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.events, !n.lost, err
}
