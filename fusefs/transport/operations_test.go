package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Requests that come to one method wait alike: otherwise one form of them would have all threads wait behind a lease.
func TestRequestsOfOneMethodMayWaitForTheSame(t *testing.T) {
	kinds := map[string]kind{}
	for code, o := range operations {
		if o.method == "" {
			continue
		}
		if other, known := kinds[o.method]; known {
			require.Equal(t, other, o.kind, "%s, request %d", o.method, code)
		}
		kinds[o.method] = o.kind
	}
}
