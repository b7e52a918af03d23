//go:build jvsfs_hosts

package hosts

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A claim further up than the next token is seen by the writes that follow, and not by the next renewal, also on a store that stamps in
// whole seconds: the claim comes in the same second as an earlier change of the directory, which the writes have looked behind already.
func TestQuickWritesSeeAClaimBeyondTheNextToken(t *testing.T) {
	c := newCluster(t)
	h := c.join("h1")
	c.mount(h, times{lease: 10 * time.Minute, renew: 4 * time.Minute, skew: 2 * time.Second, grace: time.Second})
	writing := h.Start(c.execArgs("while echo x; do sleep 0.02; done 2>/dev/null >>" + viewDir + "/file; exit 9")...)
	records := filepath.Join(c.engine.sees(c), "control")
	c.store.Sh("until [ -s " + filepath.Join(c.engine.sees(c), sourceName, "file") + " ]; do sleep 0.1; done")
	own := strings.TrimSpace(c.store.Sh("ls " + records + "/*.claim.*"))
	id, _, _ := strings.Cut(filepath.Base(own), ".claim.")
	further := records + "/" + id + ".claim.00000000000000000009"
	// The size that MooseFS shows of a directory is that of its files, in three digits or so: of many it does not show one more.
	c.store.Must("truncate", "-s", "1G", records+"/large")
	// From the begin of a second on, by the clock that all hosts share. The client of MooseFS shows a stamp up to a second late, so most of it is
	// waited for.
	c.store.Sh("cp " + own + " " + records + "/../further; until [ $(date +%N) \\< 050000000 ]; do :; done; touch " + records + "/first; sleep 0.75; mv " +
		records + "/../further " + further)
	exit, said := writing.Wait()
	require.NotZero(t, exit, said)
	var r struct {
		Renewed int `json:"renew_count"`
	}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimRight(c.store.Must("cat", own), "\x00 \n")), &r))
	require.Zero(t, r.Renewed, "a renewal lists the directory in any case")
	require.Contains(t, said+h.Logs(), "superseded by token 9")
	c.store.Must("rm", further, records+"/first", records+"/large")
	c.umount(h)
}
