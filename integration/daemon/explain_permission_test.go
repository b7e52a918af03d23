package daemon

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Whether a lease lets a write pass is half an answer where the file system does not.
func TestExplainSaysWhoLacksPermission(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: func(t testing.TB, source string) {
		made := exec.Command("sh", "-ec", "chmod 755 .; mkdir -p open/deep shut/open; touch f open/f shut/open/f; chmod 666 open/f shut/open/f; "+
			"chmod 777 open shut/open; chmod 700 shut; ln -s ../f open/link; touch open/acl; chmod 600 open/acl; setfacl -m u:1001:rw open/acl")
		made.Dir = source
		out, err := made.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}})
	ann := harness.StartActorAs(t, "ann", harness.Identity{UID: 1001, GID: 1001})
	root := harness.StartActor(t, "root")
	for path, lacking := range map[string]string{
		"f": "f", "new": ".", "open/f": "", "open/new": "", "open/new/er": "", "open/acl": "", "open/deep/new": "open/deep",
		"shut/open/f": "shut", "shut/open/new": "shut", "shut/new": "shut", "open/link": "", "open/deep": "open/deep", "open": "",
		"open/deep/" + strings.Repeat("d/", 60) + "f": "open/deep", "open/deep/" + strings.Repeat("d/", 64) + "f": "", // too deep
	} {
		x, exit := m.Explain(ann.PID(), m.At(path))
		require.Equal(t, lacking, x.NotPermitted, path)
		require.True(t, x.Allowed, path)
		require.Zero(t, exit, path)
		x, _ = m.Explain(root.PID(), m.At(path))
		require.Empty(t, x.NotPermitted, path)
	}
	// Another user is told nothing of what only ann may see; the same user is.
	ben := harness.StartActorAs(t, "ben", harness.Identity{UID: 1002, GID: 1002})
	for asks, lacking := range map[*harness.Actor]string{ben: "", ann: "f"} {
		_, said := asks.Run("/", "", m.Bin+" explain --json --pid "+strconv.Itoa(ann.PID())+" "+m.At("f"))
		var x harness.Explanation
		require.NoError(t, json.Unmarshal([]byte(said), &x), said)
		require.Equal(t, lacking, x.NotPermitted, asks.Name)
	}
	ann.Fails(m.Put("f"), "EACCES")
	ann.Fails(m.Put("new"), "EACCES")
	ann.Fails(m.Put("shut/open/f"), "EACCES")
	ann.Fails(m.Put("open/deep/new"), "EACCES")
	for _, path := range []string{"open/f", "open/new", "open/acl"} {
		ann.OK(m.Put(path))
	}
	said := m.MustCLI("explain", "--pid", strconv.Itoa(ann.PID()), m.At("shut/open/f"))
	require.Contains(t, said, "jvsfs would not refuse a write by process")
	require.Contains(t, said, "the process lacks permission for "+m.At("shut")+": ")
}
