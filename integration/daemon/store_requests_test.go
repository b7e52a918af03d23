package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// What a farStore is asked about files whose names begin with "made", which it lets nobody cache.
var (
	farMade     sync.Map     // their inodes
	farMadeSeen atomic.Int64 // LOOKUPs of their names
	farMadeAttr atomic.Int64 // GETATTRs of them
)

// notesMade notes an inode that was made.
func notesMade(name string, id uint64) {
	if strings.HasPrefix(name, "made") {
		farMade.Store(id, true)
	}
}

func (s farStore) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if _, is := farMade.Load(in.NodeId); is {
		farMadeAttr.Add(1)
	}
	st := s.RawFileSystem.GetAttr(cancel, in, out)
	if _, is := farCoarse.Load(in.NodeId); is {
		coarsely(&out.Attr)
	}
	return st
}

func init() {
	operation.Add("far asked", func(s *operation.Box, _ operation.Command) error {
		s.Vals = []int64{farMadeSeen.Load(), farMadeAttr.Load()}
		return nil
	})
}

// The store answers CREATE and SETATTR with the attributes, so it is not asked for them again, and they are told as they are.
func TestTheStoreIsNotAskedForAttributesThatItHasJustTold(t *testing.T) {
	const files = 20
	m, server := farMount(t, nil)
	before := server.OK(harness.Command{Op: "far asked"}).Vals[1]
	line := `for i in $(seq 20); do : >"$0/made$i"; done; chmod 640 "$0"/made*; chown 12:34 "$0"/made*; touch -d 2001-02-03 "$0"/made*
		stat -c '%n %i %a %u %g %h %s %Y %F' "$0"/made*`
	shown, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", line, m.Mountpoint)
	require.Zero(t, exit, errs)
	asked := server.OK(harness.Command{Op: "far asked"}).Vals[1] - before
	t.Logf("%d GETATTRs for %d files that were made and changed three times", asked, files)
	// chmod(1) asks for the mode, and before a change of the owner the kernel asks a client without HANDLE_KILLPRIV for it.
	require.LessOrEqual(t, asked, int64(2*files), "GETATTRs")
	stored, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", `stat -c '%n %i %a %u %g %h %s %Y %F' "$0"/made*`, m.Source)
	require.Zero(t, exit, errs)
	require.Equal(t, strings.ReplaceAll(stored, m.Source+"/", ""), strings.ReplaceAll(shown, m.Mountpoint+"/", ""))
}

// Whoever makes files in a directory that was made under the lease is not asked by the store, through jvsfs, for names that cannot be there.
func TestTheStoreIsNotAskedForNamesInANewDirectory(t *testing.T) {
	const files = 40
	m, server := farMount(t, nil)
	before := server.OK(harness.Command{Op: "far asked"}).Vals[0]
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", `mkdir "$0/d" && for i in $(seq 40); do : >"$0/d/made$i"; done`, m.Mountpoint)
	require.Zero(t, exit, errs)
	asked := server.OK(harness.Command{Op: "far asked"}).Vals[0] - before
	t.Logf("%d LOOKUPs for %d files that were made", asked, files)
	require.Less(t, asked, int64(files+files/4), "the client of the store asks once for each; jvsfs asked again")
	require.GreaterOrEqual(t, asked, int64(files), "nothing was counted")
}

// What comes into a directory that was made under the lease past jvsfs is seen: at once if it is made on this machine, and after the lease
// if it is made on another one.
func TestNamesThatOthersMakeInANewDirectoryAreSeen(t *testing.T) {
	m, _ := farMount(t, nil)
	store := filepath.Join(m.Base, "source") // as another host sees it
	wait := `seen() { i=0; until [ -e "$1" ]; do i=$((i+1)); [ $i -lt 18000 ] || exit 9; sleep .01; done; }; `
	fill := `mkdir "$0/d" && for i in 1 2 3 4 5 6; do : >"$0/d/made$i"; done && [ ! -e "$0/d/far" ] && : >"$1/d/past" && seen "$0/d/past"`
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "bash", "-c", wait+fill, m.Mountpoint, m.Source)
	require.Zero(t, exit, errs)
	require.NoError(t, os.WriteFile(filepath.Join(store, "d", "far"), nil, 0o644))
	_, errs, exit = m.CLI("exec", m.Mountpoint, "--", "bash", "-c", wait+`seen "$0/d/far"`, m.Mountpoint)
	require.Zero(t, exit, errs)
}
