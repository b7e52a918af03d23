//go:build !jvsfs_etcd

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

// etcdLine is a command line that would mount with leases in an etcd that is not there.
func etcdLine(t *testing.T) (line []string, config string) {
	t.Helper()
	root := testkit.Tree(t, "repo/main")
	config = filepath.Join(root, "jvsfs.yaml")
	require.NoError(t, os.WriteFile(config, []byte("# ours\netcd: http://127.0.0.1:1\netcd_prefix: /jvsfs/builds\n"), 0o600))
	return []string{"mount", "--json", "--config", config, filepath.Join(root, "repo/main")}, config
}

// Where the complete program is missing there is one error, that says what asks for it, where it was looked for, and what to do.
func TestAMountWithEtcdNeedsTheCompleteProgram(t *testing.T) {
	line, config := etcdLine(t)
	exit, out, errs := command(line...)
	require.Equal(t, api.ExitUsage, exit, errs)
	f := failureIn(t, out)
	own, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, "the leases are to be kept in etcd ("+config+":2): this jvsfs was built without etcd, and there is no jvsfs-etcd: looked for "+
		filepath.Join(filepath.Dir(own), sibling.Name)+" and /usr/lib/jvsfs/jvsfs-etcd", f.Message)
	require.Contains(t, f.Next, "-tags jvsfs_etcd")

	exit, _, errs = command("mount", "-o", "etcd_prefix=", "--config", config, filepath.Dir(config))
	require.Equal(t, api.ExitUsage, exit)
	require.Contains(t, errs, "needs etcd_prefix", "mistakes are found without it")
}

// The daemon, and who waits for it, are led there alike; here to a program that cannot do it either, and does not look for another one.
func TestAMountWithEtcdRunsTheProgramBesideIt(t *testing.T) {
	line, config := etcdLine(t)
	dir := filepath.Dir(config)
	require.NoError(t, os.Chmod(dir, 0o755))
	text, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	for _, name := range []string{"jvsfs", sibling.Name} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	refused := "the leases are to be kept in etcd (" + config + ":2): " + dir + "/jvsfs-etcd was built without etcd, too"

	cmd := exec.Command(filepath.Join(dir, "jvsfs"), line...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, refused, failureIn(t, string(out)).Message)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd = exec.Command(filepath.Join(dir, "jvsfs"), line...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "JVSFS_READY_FD=3", "GORACE=atexit_sleep_ms=0")
	cmd.ExtraFiles = []*os.File{w}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	var told struct{ Error api.Failure }
	require.NoError(t, json.NewDecoder(r).Decode(&told), "who waits for the daemon hears it")
	require.Equal(t, refused, told.Error.Message)
	require.Error(t, cmd.Wait())
}

func failureIn(t *testing.T, out string) api.Failure {
	t.Helper()
	var report struct{ Error api.Failure }
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&report), out)
	return report.Error
}
