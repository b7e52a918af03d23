package service

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// namespaceEnv marks a run of the test binary in a mount namespace of its own.
const namespaceEnv = "JVSFS_TEST_NAMESPACE"

// ownNamespace runs the calling test again, alone and in a mount namespace of its own, so
// that it may change what lies in /usr/sbin and /etc. It tells whether this is that run;
// otherwise the test is over.
func ownNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceEnv) != "" {
		hideUtab(t)
		return true
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", self,
		"-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-test.timeout=%s", 6*harness.Patience))
	cmd.Env = append(os.Environ(), namespaceEnv+"=1", "JVSFS_BINARY="+harness.RequireBinary(t), "JVSFS_TEST_DIR="+harness.Scratch)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
	return false
}

// hideUtab keeps the notes that libmount makes of its mounts to this namespace.
func hideUtab(t *testing.T) {
	t.Helper()
	require.NoError(t, os.MkdirAll("/run/mount", 0o755))
	require.NoError(t, unix.Mount("tmpfs", "/run/mount", "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount("/run/mount", unix.MNT_DETACH)) })
}

// cover lays a directory over another one of the machine, for this namespace alone: the
// names of both are there, those of top first.
func cover(t *testing.T, top, dir string) {
	t.Helper()
	require.NotEmpty(t, os.Getenv(namespaceEnv), "not in the namespace of everybody")
	require.NoError(t, unix.Mount("overlay", dir, "overlay", unix.MS_RDONLY, "lowerdir="+top+":"+dir))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// coverFile puts a text in the place of a file of the machine, for this namespace alone.
func coverFile(t *testing.T, path, text string) {
	t.Helper()
	require.NotEmpty(t, os.Getenv(namespaceEnv), "not in the namespace of everybody")
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	require.NoError(t, unix.Mount(file, path, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(path, unix.MNT_DETACH)) })
}
