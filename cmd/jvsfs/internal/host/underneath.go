package host

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Underneath runs f where no jvsfs mount covers point, so that paths lead to the directory below. f runs on a
// thread with a private copy of the mount namespace, in which the mounts at point are unmounted. The copy ends
// with the thread; files that f opens stay open. This works wherever the dead mount is, also on the root of a
// mount that no path from outside reaches. It changes nothing that others can see.
func Underneath(point string, f func() error) error {
	done := make(chan error, 1)
	go OnThreadOfItsOwn(func() {
		err := uncoverPrivately(point)
		if err == nil {
			err = f()
		}
		done <- err
	})
	return <-done
}

// OnThreadOfItsOwn runs f on a thread that ends with it. The main thread will not do: it never ends, so the
// namespace would live as long as the process and keep every mount of the machine busy.
func OnThreadOfItsOwn(f func()) {
	runtime.LockOSThread() // not unlocked, except the main thread: so the thread ends
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() { defer close(done); OnThreadOfItsOwn(f) }() // on another thread: this one is locked
	<-done
}

// uncoverPrivately gives this thread a mount namespace of its own without the jvsfs
// mounts at point.
func uncoverPrivately(point string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a private copy of the mounts: %w", err)
	}
	// This comes first: shared mounts would propagate the unmount to everybody.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the copy of the mounts private: %w", err)
	}
	for {
		mounts, err := ReadMounts()
		if err != nil {
			return err
		}
		top := mounts.At(point)
		if !IsJVSFS(top) || top.Mountpoint != point {
			return nil
		}
		m, err := HoldMount(top)
		if err != nil {
			return err
		}
		err = m.Detach()
		m.Close()
		if err != nil {
			return fmt.Errorf("take %s away in the private copy: %w", point, err)
		}
	}
}
