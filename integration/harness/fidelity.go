package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
)

// RequireFidelity plays cases natively and in the mount, whose lease the test's own
// process holds.
func (m *Mount) RequireFidelity(t *testing.T, which []cases.Case) {
	t.Helper()
	excused, err := cases.ReadExceptions("../conformance/exceptions")
	require.NoError(t, err)
	plain := filepath.Join(m.Base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o777))
	native, mounted := notesOf(plain, which), notesOf(m.Mountpoint, which)
	for name, want := range native {
		if excused.Cause(name) == "" {
			assert.Equal(t, want, mounted[name], name)
		}
	}
}

func notesOf(dir string, which []cases.Case) map[string]string {
	all := make(map[string]string)
	cases.Run(dir, which, 8, func(o cases.Outcome) { all[o.Case] = o.Notes })
	return all
}
