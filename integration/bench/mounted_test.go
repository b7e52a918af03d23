package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// jvsfsOf is the program that the stories drive; without one it is built.
func jvsfsOf(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 || unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil {
		if os.Getenv("JVSFS_REQUIRE_FUSE") != "" {
			t.Fatal("a mount needs root and /dev/fuse")
		}
		t.Skip("a mount needs root and /dev/fuse")
	}
	if there := os.Getenv("JVSFS_BINARY"); there != "" {
		return there
	}
	built := filepath.Join(t.TempDir(), "jvsfs")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/jvsfs")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return built
}

// A refused mount would only be a line in a log: CI prints the speed and does not judge it.
func TestTargetsOfJvsfsMount(t *testing.T) {
	p := programs{jvsfs: jvsfsOf(t)}
	for _, name := range []string{"jvsfs", withRules, overDevice} {
		t.Run(name, func(t *testing.T) {
			one, err := targetNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := one.mount(p, t.TempDir(), "", false)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := m.unmount(); err != nil || isMountPoint(m.box.Dir) {
					t.Error("it is still mounted: ", err)
				}
			})
			if err := os.WriteFile(filepath.Join(m.box.Dir, "f"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(m.box.Backing, "f")); err != nil {
				t.Fatal(err)
			}
		})
	}
}
