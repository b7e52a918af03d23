package lookup

import (
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// MustBeDirectory refuses a mount point that is none.
func MustBeDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return api.NoPath(path, err)
	case !info.IsDir():
		return api.NoDirectory(path)
	}
	return nil
}
