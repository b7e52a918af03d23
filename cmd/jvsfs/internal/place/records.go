package place

import (
	"errors"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/lease"
)

// OpenRecords is OpenLockDir for who works on the records without a mount. It refuses a directory whose leases are kept elsewhere.
func (p Place) OpenRecords() (*lease.Dir, error) { return ungoverned(p.OpenLockDir()) }

// OpenUngoverned is OpenRecords of a lock directory that exists.
func OpenUngoverned(path string) (*lease.Dir, error) { return ungoverned(lease.OpenDir(path)) }

func ungoverned(dir *lease.Dir, err error) (*lease.Dir, error) {
	if err != nil {
		return nil, err
	}
	if err := lockdir.RefuseGoverned(dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}
