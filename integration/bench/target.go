package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is a way to the same kind of directory.
type target struct {
	name string
	// daemon is the command that serves mnt over src and stays in the foreground,
	// nil for the directory itself. work is a directory beside src.
	daemon func(p programs, src, mnt, work string) []string
}

// withRules is jvsfs with two presets, to be compared with jvsfs without.
const withRules = "jvsfs-rules"

// programs are the binaries that scripts/bench.sh built.
type programs struct{ jvsfs, loopback, passthroughLL string }

// mounts is a mount of jvsfs that keeps its records in work, in a directory that is there for them alone.
func (p programs) mounts(work string, args ...string) []string {
	return append([]string{p.jvsfs, "mount", "--foreground", "--control", filepath.Join(work, "locks")}, args...)
}

// Every peer serves all users and lets the kernel check permissions, as jvsfs does.
func allTargets() []target {
	return []target{
		{"native", nil},
		{"jvsfs", func(p programs, src, mnt, work string) []string {
			return p.mounts(work, src, mnt)
		}},
		{withRules, func(p programs, src, mnt, work string) []string {
			return p.mounts(work, "--rules", "git", "--rules", "agency", src, mnt)
		}},
		{overDevice, withTransport("dev")},
		{overRing, withTransport("uring")},
		{"loopback", func(p programs, src, mnt, _ string) []string {
			return []string{p.loopback, "-q", "-allow-other", mnt, src}
		}},
		{"bindfs", func(_ programs, src, mnt, _ string) []string {
			return []string{"bindfs", "-f", src, mnt}
		}},
		// The content is in the upper layer: writes copy nothing up.
		{"overlayfs", func(_ programs, src, mnt, work string) []string {
			return []string{"fuse-overlayfs", "-f", "-o",
				fmt.Sprintf("lowerdir=%s/lower,upperdir=%s,workdir=%s/work", work, src, work), mnt}
		}},
		{"passthrough_ll", func(p programs, src, mnt, _ string) []string {
			return []string{p.passthroughLL, "-f", "-o", "allow_other,default_permissions,cache=always,source=" + src, mnt}
		}},
	}
}

func namedTargets(list string) ([]target, error) {
	out := allTargets()[:1] // every ratio is to native
	for name := range strings.SplitSeq(list, ",") {
		t, err := targetNamed(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if t.name != out[0].name {
			out = append(out, t)
		}
	}
	return out, nil
}

func targetNamed(name string) (target, error) {
	var names []string
	for _, t := range allTargets() {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return target{}, fmt.Errorf("no target %q; there are %s", name, strings.Join(names, ", "))
}

func (t target) command(p programs, src, mnt, work string) *exec.Cmd {
	argv := t.daemon(p, src, mnt, work)
	return exec.Command(argv[0], argv[1:]...)
}
