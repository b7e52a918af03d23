package main

import (
	"fmt"
	"os"
	"strings"
)

// jvsfs with one transport or the other. A program that knows only one has no option for it, and a kernel may have
// io_uring switched off: then the target is left out, with the reason.
const (
	overDevice = "jvsfs-dev"
	overRing   = "jvsfs-uring"

	ringSwitch = "/sys/module/fuse/parameters/enable_uring"
)

// isJvsfs says whose requests are counted.
func isJvsfs(target string) bool {
	return target == "jvsfs" || target == overDevice || target == overRing || target == withRules
}

// optional are the targets that a run goes on without.
func (t target) optional() bool { return t.name == overDevice || t.name == overRing }

// missing says why a target cannot be had on this machine, or nothing.
func (t target) missing() error {
	if t.name != overRing {
		return nil
	}
	on, err := os.ReadFile(ringSwitch)
	if err != nil {
		return fmt.Errorf("%s: the kernel has no FUSE over io_uring: %w", t.name, err)
	}
	if strings.TrimSpace(string(on)) != "Y" {
		return fmt.Errorf("%s: FUSE over io_uring is off (echo Y >%s)", t.name, ringSwitch)
	}
	return nil
}

func withTransport(name string) func(p programs, src, mnt, work string) []string {
	return func(p programs, src, mnt, work string) []string {
		return p.mounts(work, "-o", "transport="+name, src, mnt)
	}
}
