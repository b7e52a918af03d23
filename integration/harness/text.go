package harness

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func ReadText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func RequireJSON(t testing.TB, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}
