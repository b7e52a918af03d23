package place

import (
	"errors"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/lease"
)

// OpenRecords is OpenLockDir for who works on the records without a mount. It refuses a directory whose leases are kept elsewhere.
func (p Place) OpenRecords() (*lease.Dir, error) { return ungoverned(p.OpenLockDir()) }

// OpenRecordsToGive is OpenRecords for who renews a lease or gives it back. That must not change a directory in which nobody has taken one.
func (p Place) OpenRecordsToGive() (*lease.Dir, error) {
	return ungoverned(p.openLockDir(lease.OpenDirToLook))
}

// LookUngoverned opens a lock directory that exists as OpenRecords does, and changes nothing.
func LookUngoverned(path string) (*lease.Dir, error) { return ungoverned(lease.OpenDirToLook(path)) }

func ungoverned(dir *lease.Dir, err error) (*lease.Dir, error) {
	if err != nil {
		return nil, err
	}
	if err := lockdir.RefuseGoverned(dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}
