package human

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintableTamesTerminals(t *testing.T) {
	require.Equal(t, "a?[31mb?c", Printable("a\x1b[31mb\nc"))
}
