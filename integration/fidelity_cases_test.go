package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
)

// TestFidelity takes a sample of the cases of scripts/conformance.sh: what a call
// answers, and what it leaves, is the same natively and for the holder of the mount.
func TestFidelity(t *testing.T) {
	heldByThisProcess(t).requireFidelity(t, cases.Sample(4))
}

// requireFidelity plays cases natively and in the mount, whose lease the test's own
// process holds.
func (m *mount) requireFidelity(t *testing.T, which []cases.Case) {
	t.Helper()
	excused, err := cases.ReadExceptions("conformance/exceptions")
	require.NoError(t, err)
	plain := filepath.Join(m.base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o777))
	native, mounted := notesOf(plain, which), notesOf(m.Mountpoint, which)
	for name, want := range native {
		if excused.Cause(name) == "" {
			assert.Equal(t, want, mounted[name], name)
		}
	}
}

// heldByThisProcess returns a mount whose lease the test's own process holds.
func heldByThisProcess(t *testing.T) *mount {
	t.Helper()
	m := newMount(t, mountOptions{onFree: "deny"})
	m.cliOK("lock", "acquire", m.Mountpoint, "--pid", strconv.Itoa(os.Getpid()))
	return m
}

func notesOf(dir string, which []cases.Case) map[string]string {
	all := make(map[string]string)
	cases.Run(dir, which, 8, func(o cases.Outcome) { all[o.Case] = o.Notes })
	return all
}
