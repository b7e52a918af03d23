package harness

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// ReadText is the content of a file.
func ReadText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// RequireJSON reads JSON that must be well-formed.
func RequireJSON(t testing.TB, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}
