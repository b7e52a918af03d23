package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate/process"
)

// checkMounts checks ours, their lock directories, ways past them, and leftovers of former mounts.
func checkMounts(ctx context.Context, mounts host.MountTable, ours []*mountinfo.Info, fix lockdir.Repair, at func(string)) []finding.Finding {
	others := host.ReadNamespaces("/proc")
	at("the daemons of all mounts")
	all := client.StatusOfAll(ctx, ours)
	var out []finding.Finding
	for i, st := range all {
		at(fmt.Sprintf("the mount at %s (%d of %d)", st.Mountpoint, i+1, len(all)))
		out = append(out, checkMount(st))
		if st.State == "serving" {
			out = append(out, featureFindings(st)...)
			out = append(out, crowdingFindings(st)...)
			out = append(out, cutOffFindings(st)...)
			out = append(out, versionFindings(st, api.BuildOf().Version, exeOf(st.PID))...)
			out = append(out, askDoctor(ctx, ours[i], fix)...)
		}
		out = append(out, hiddenFindings(ours[i], mounts)...)
		out = append(out, checkPast(ours[i], mounts, others)...)
	}
	if len(mounts.JVSFS()) == 0 {
		out = append(out, finding.OK("mounts.none", "no jvsfs mounts"))
	}
	out = append(out, stackFindings(ours, all)...)
	out = append(out, checkStates(ctx, fix)...)
	return append(out, checkRun(mounts, others, fix)...)
}

// askDoctor asks the daemon to check its lock directory.
func askDoctor(ctx context.Context, m *mountinfo.Info, fix lockdir.Repair) []finding.Finding {
	out, err := client.AskFor[[]finding.Finding](ctx, m, api.Doctor{Repair: fix.Safe, Force: fix.Force}, nil)
	if err != nil {
		return []finding.Finding{finding.Warn("locks.unchecked", "run doctor as root", "the lock directory of %s was not checked: %v", m.Mountpoint, err)}
	}
	return out
}

func checkMount(st api.MountStatus) finding.Finding {
	switch st.State {
	case "serving":
		return finding.OK("mounts.serving", "%s serves %s, pid %d", st.Mountpoint, st.Source, st.PID)
	case "dead":
		way := "jvsfs recover " + st.Mountpoint + "; to give the fence up instead: jvsfs umount --bare " + st.Mountpoint
		if host.ByUser() && st.Next != "" {
			way = st.Next
		}
		return finding.Fail("mounts.dead", way,
			"%s is dead: its daemon does not answer, everything there fails", st.Mountpoint)
	case "forbidden":
		return finding.Warn("mounts.forbidden", cmp.Or(st.Next, "run doctor as root"), "%s cannot be asked: %s", st.Mountpoint, st.Detail)
	}
	fix := "resume the daemon (kill -CONT) or end it"
	if st.Next != "" && st.Next != client.NextOfSilent {
		fix = st.Next
	}
	return finding.Fail("mounts.silent", fix, "%s does not answer as it should: %s", st.Mountpoint, st.Detail)
}

// cutOffFindings names the worktrees whose daemon cannot read their records, whatever a new look by their path finds.
func cutOffFindings(st api.MountStatus) (out []finding.Finding) {
	for _, w := range st.Worktrees {
		if w.CutOff {
			out = append(out, finding.Fail("mounts.cut_off", fmt.Sprintf("umount and mount the store (umount -l): the mount comes back by itself; or jvsfs umount --bare %s, and jvsfs mount again", human.Typed(st.Mountpoint)),
				"the daemon of %s cannot read the records of worktree %s: %s", st.Mountpoint, w.Worktree, w.Detail))
		}
	}
	return out
}

// stackFindings looks for the rest of an interrupted recovery: a new mount beneath a dead one that was not
// detached. all are the states of our mounts.
func stackFindings(ours []*mountinfo.Info, all []api.MountStatus) []finding.Finding {
	state := map[int]string{}
	for i, m := range ours {
		state[m.ID] = all[i].State
	}
	var out []finding.Finding
	for _, upper := range ours {
		for _, lower := range ours {
			if upper.Parent != lower.ID || upper.Mountpoint != lower.Mountpoint {
				continue
			}
			switch {
			case state[upper.ID] == "dead":
				out = append(out, finding.Fail("recovery.interrupted", "jvsfs recover "+upper.Mountpoint,
					"the recovery of %s was interrupted: another mount lies beneath the dead one", upper.Mountpoint))
			case state[lower.ID] == "dead":
				out = append(out, finding.Warn("recovery.covered", "let those who are in it leave; then jvsfs umount, and jvsfs recover "+upper.Mountpoint,
					"a dead mount lies beneath the one at %s", upper.Mountpoint))
			}
		}
	}
	return out
}

// versionFindings compares the daemon with this command. exe is the daemon's binary as the kernel names it, ""
// if we may not look.
func versionFindings(st api.MountStatus, own, exe string) []finding.Finding {
	const fix = "jvsfs mount --replace, or umount and mount again"
	switch {
	case st.Version != own:
		theirs := st.Version
		if theirs == "" {
			theirs = "an older one"
		}
		return []finding.Finding{finding.Warn("version.mismatch", fix, "the daemon of %s is of version %s, this command of %s", st.Mountpoint, theirs, own)}
	case strings.HasPrefix(filepath.Base(exe), "jvsfs") && strings.HasSuffix(exe, " (deleted)"): // the number may be of another pid namespace
		return []finding.Finding{finding.Warn("version.replaced", fix, "the daemon of %s (pid %d) runs a binary that was replaced since: %s", st.Mountpoint, st.PID, exe)}
	}
	return []finding.Finding{finding.OK("version.same", "the daemon of %s is of the version of this command, %s", st.Mountpoint, own)}
}

func exeOf(pid int) string {
	exe, _ := process.Executable(pid) // we may not look at it
	return exe
}

// featureFindings names the features that the kernel did not offer when the mount was made.
func featureFindings(st api.MountStatus) []finding.Finding {
	var stats struct {
		Kernel *fusefs.Features `json:"kernel"`
	}
	if err := json.Unmarshal(st.Statistics, &stats); err != nil || stats.Kernel == nil {
		return nil // an older daemon
	}
	k := stats.Kernel
	var out []finding.Finding
	if !k.MapsDirect {
		out = append(out, finding.Warn("kernel.map", "use Linux "+kernelMaps+" or later", "files open for writing at %s cannot be mapped", st.Mountpoint))
	}
	var without []string
	for what, has := range map[string]bool{
		"forget inodes on demand (large trees need a high descriptor limit)": k.Prunes,
		"end long caching (names and attributes are cached shortly)":         k.Expires,
		"clear setuid with the write (each write asks first)":                k.KillsPriv,
	} {
		if !has {
			without = append(without, what)
		}
	}
	sort.Strings(without)
	said := "can do all that is made use of"
	if len(without) > 0 {
		said = "cannot " + strings.Join(without, ", ")
	}
	return append(out, finding.OK("kernel.fuse", "the kernel's side of %s speaks FUSE %s and %s", st.Mountpoint, k.Protocol, said))
}

// hiddenFindings is what doctor says of it.
func hiddenFindings(m *mountinfo.Info, mounts host.MountTable) []finding.Finding {
	all := mounts.HiddenIn(m.Source)
	if len(all) == 0 {
		return nil
	}
	return []finding.Finding{finding.Warn("mounts.hidden", "umount "+m.Mountpoint+", unmount what is inside, mount again, and mount that again at its place in "+m.Mountpoint,
		"%s does not show the file systems that are mounted inside of %s: %s", m.Mountpoint, m.Source, host.HiddenText(all))}
}
