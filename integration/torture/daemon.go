package main

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// startDaemon mounts anew. It unmounts the dead mount of the daemon before. Needs mu.
func (h *host) startDaemon() {
	for unix.Unmount(h.mountpoint(), unix.MNT_DETACH) == nil {
	}
	h.unseal()
	h.daemon = h.launch(h.mountArgs()...)
}

func (h *host) mountArgs() []string {
	args := append([]string{"mount", "--foreground", h.at("backing"), h.mountpoint()}, h.leaseArgs(h.Number)...)
	if !h.Repo {
		args = append(args, "--control", h.locks())
	}
	return args
}

func (h *host) leaseArgs(number int) []string {
	args := []string{"--log-file", h.at("meta", fmt.Sprintf("daemon%d.log", number)), "--on-free", h.OnFree,
		"--lease-duration", h.span(h.LeaseMS).String(), "--renew-interval", h.span(h.RenewMS).String(),
		"--max-clock-skew", h.span(h.SkewMS).String(), "--steal-grace", h.span(h.GraceMS).String()}
	if way := os.Getenv("JVSFS_TEST_TRANSPORT"); way != "" {
		args = append(args, "--transport", way)
	}
	return args
}

// launch starts jvsfs, with an enemy in it. Needs mu.
func (h *host) launch(args ...string) (pid int) { return h.launchAs(h.plan(h.Number, false), args...) }

func (h *host) launchAs(p plan.Daemon, args ...string) (pid int) {
	cmd := exec.Command(h.Jvsfs, args...)
	cmd.Env = append(os.Environ(), plan.Env+"="+p.JSON())
	// Its output beside its log: panics, and reports of the race detector.
	beside, err := os.OpenFile(h.at("meta", fmt.Sprintf("stderr%d.log", p.Host)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer beside.Close() //nolint:errcheck // the daemon has its own
	cmd.Stderr = beside
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	h.lives++
	return cmd.Process.Pid
}

// plan is the plan of faults for a daemon. Grants by other records than those of the history do not count as
// its grants.
func (h *host) plan(number int, otherRecords bool) plan.Daemon {
	p := plan.Daemon{Seed: h.Seed, Host: number, Life: h.lives, LeaseMS: h.LeaseMS, Lacks: h.Lacks, Points: h.points(),
		Events: h.at("meta", fmt.Sprintf("daemon%d.events", number)), Page: h.at("meta", fmt.Sprintf("page%d", h.Number))}
	if otherRecords {
		return p
	}
	for _, at := range h.places() {
		p.Marks = append(p.Marks, plan.Marks{Worktree: at.ID, Log: h.backing(at, "log"), Dir: h.marks(at)})
	}
	for i, name := range roamNames {
		if h.Roams {
			p.Marks = append(p.Marks, plan.Marks{Worktree: name, Log: roamLog, Dir: h.at("marks", "of-"+name), Base: uint64(i) * roamBase})
		}
	}
	return p
}

// points are the failpoints of the focus. A host that is alone is killed less often: no other host continues
// meanwhile, and its roots must be renamed.
func (h *host) points() []plan.Point {
	points := append(h.Theme.points(), pointsOf(h.Focus)...)
	for i := range points {
		if h.Hosts == 1 || h.Theme == passing {
			points[i].Kill /= 8
			points[i].Stop /= 4
		}
		if h.Theme == holds {
			points[i].Kill /= 3
		}
	}
	return points
}

// pointsOf is what happens at the points of a daemon. The chances are such that each step of the protocol sees about as many
// kills, and a takeover often meets a write that is past its check: renewals are made more often than claims, claims more often
// than releases, and writes all the time.
func pointsOf(focus string) []plan.Point {
	points := []plan.Point{
		{Prefix: "admitted.Write", Short: 3000, Long: 9000, Stop: 16000, Kill: 300},
		{Prefix: "admitted.", Short: 8000, Long: 15000, Stop: 18000, Kill: 1000},
		{Prefix: "renew.", Short: 20000, Long: 6000, Stop: 3000, Kill: 15000},
		{Prefix: "publish.", Short: 20000, Long: 2000, Stop: 1000, Kill: 9000},
		{Prefix: "claim.after_publish", Short: 20000, Long: 2000, Stop: 1000, Kill: 9000},
		{Prefix: "claim.", Short: 20000, Long: 2000, Stop: 1000, Kill: 5000},
		{Prefix: "release.", Short: 20000, Long: 2000, Stop: 1000, Kill: 25000},
		{Prefix: "withdraw.", Short: 20000, Long: 2000, Stop: 1000, Kill: 25000},
		{Prefix: "audit.", Short: 20000, Long: 2000, Stop: 2000, Kill: 2000},
		{Prefix: "", Short: 60000, Long: 4000, Stop: 2500, Kill: 1200},
	}
	if focus == "" {
		return points
	}
	long := 100000
	switch focus {
	case "enter.before_count": // comes with every write
		long = 5000
	case "renew.before_write": // comes rarely, where leases are often lost
		long = 300000
	}
	return append([]plan.Point{{Prefix: focus, Long: long}}, points...)
}
