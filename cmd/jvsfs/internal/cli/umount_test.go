package cli

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
)

func TestUmountOfADirectoryWithoutAMountSaysSo(t *testing.T) {
	var out, errs bytes.Buffer
	code := execute(context.Background(), []string{"umount", t.TempDir()}, Program{Streams: console.Streams{In: os.Stdin, Out: &out, Err: &errs}})
	require.Equal(t, api.ExitNoMount, code)
	require.Contains(t, errs.String(), "E_NO_MOUNT")
}
