package lease

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// freezer stops all processes of a cgroup, as `docker pause` does, so that no signal and
// no state in /proc tells.
type freezer struct {
	dir, file    string
	frozen, thaw string
}

// freezers are those of this machine: of version 2, and of version 1 where it is mounted.
func freezers(t *testing.T) map[string]freezer {
	t.Helper()
	if harness.InContainer() { // its cgroups are read-only
		return nil
	}
	all := map[string]freezer{"v2": {string(harness.NewCgroup(t)), "cgroup.freeze", "1", "0"}}
	infos, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	require.NoError(t, err)
	for _, i := range infos {
		if strings.Contains(","+i.VFSOptions+",", ",freezer,") {
			all["v1"] = freezer{string(harness.NewCgroupAt(t, filepath.Join(i.Mountpoint, filepath.Base(all["v2"].dir)))), "freezer.state", "FROZEN", "THAWED"}
		}
	}
	return all
}

func (f freezer) set(t *testing.T, to string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, f.file), []byte(to), 0o644))
}

// A holder that is frozen with its cgroup is a paused holder: it is not renewed, another
// takes over, and nothing of the first lands afterwards.
func TestNothingOfAFrozenHolderLandsAfterATakeover(t *testing.T) {
	harness.NotInContainer(t, "freezer: its cgroups are read-only")
	for name, f := range freezers(t) {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, OnFree: "deny", Prepare: harness.WithFiles("f", "g")})
			sleeper, next := harness.StartActor(t, "sleeper"), harness.StartActor(t, "next")
			require.NoError(t, os.WriteFile(filepath.Join(f.dir, "cgroup.procs"), []byte(strconv.Itoa(sleeper.PID())), 0o644))
			first := m.Acquire(sleeper)
			sleeper.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
			f.set(t, f.frozen)
			defer f.set(t, f.thaw)
			m.Steal(next)
			_, record := m.HeadClaim("")
			require.Greater(t, record.TokenNumber(t), first.TokenNumber(t))
			next.OK(m.Put("g"))
			f.set(t, f.thaw)
			sleeper.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
			sleeper.End()
		})
	}
}
