package harness

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Origins are what config show says: value and place by key.
func (m *Mount) Origins(args ...string) map[string][2]string {
	m.T.Helper()
	var view struct {
		Values []struct{ Key, Value, Where string }
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI(append([]string{"config", "show", "--json"}, args...)...)), &view))
	all := map[string][2]string{}
	for _, v := range view.Values {
		all[v.Key] = [2]string{v.Value, v.Where}
	}
	return all
}

// WriteConfig writes a configuration file beside the mount and returns its path.
func (m *Mount) WriteConfig(name, text string) string {
	m.T.Helper()
	path := filepath.Join(m.Base, name)
	require.NoError(m.T, os.WriteFile(path, []byte(text), 0o644))
	return path
}
