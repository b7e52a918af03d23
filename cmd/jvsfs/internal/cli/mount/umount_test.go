package mount

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// A daemon that is only silent may come back: its mount is not given up.
func TestUmountBareIsAdvisedOnlyForADeadMount(t *testing.T) {
	dead := wantsBare(&api.Failure{Err: &os.PathError{Op: "connect", Err: os.ErrNotExist}}, "/m", false)
	require.Contains(t, dead.Next, "jvsfs umount --bare /m")
	require.Contains(t, dead.Next, "jvsfs recover /m")
	require.Empty(t, wantsBare(&api.Failure{Err: context.DeadlineExceeded}, "/m", false).Next)
}
