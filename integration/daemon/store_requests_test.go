package daemon

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
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
	return s.RawFileSystem.GetAttr(cancel, in, out)
}

func init() {
	harness.ActorOps["far asked"] = func(s *harness.Stage, _ harness.Command) error {
		s.Vals = []int64{farMadeSeen.Load(), farMadeAttr.Load()}
		return nil
	}
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
