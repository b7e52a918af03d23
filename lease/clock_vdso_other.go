//go:build !amd64

package lease

import "time"

// vdsoBoot: only on amd64 is the call into the vDSO written and tried.
func vdsoBoot() (time.Duration, bool) { return 0, false }
