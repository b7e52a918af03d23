package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAUUIDIsOfVersion4AndNeverTheSame(t *testing.T) {
	const form = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
	seen := map[string]bool{}
	for range 1000 {
		id := newUUID()
		require.Regexp(t, form, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}
