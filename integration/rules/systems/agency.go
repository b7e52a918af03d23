package systems

// agency 8cb1959 (15 Jan 2026, its lock is of c37ea8e) and 7aac2f2 (31 Jan 2026), traced: the lock of a repository.
//
//	newfstatat repos/ID
//	openat repos/ID/.lock O_WRONLY|O_CREAT|O_EXCL 0600, write {"pid","created_at","cmd"}, close: it is taken
//	on EEXIST: openat .lock O_RDONLY, read, close
//	           pidfd_open PID, and pidfd_send_signal 0    ESRCH: it is stale; the older one also by its age, 2 h
//	           unlinkat .lock, and all again, three times at most
//	to unlock: unlinkat .lock                             whoever's it is
//
// What it writes below repos/ID goes to a temporary file that is renamed.

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// agencyLocked is the answer where somebody has the lock.
const agencyLocked = "locked"

type agencyRecord struct {
	PID     int       `json:"pid"`
	Created time.Time `json:"created_at"`
	Command string    `json:"cmd"`
}

func (c Call) agencyPath() string { return filepath.Join(c.Dir, "repos", c.What, ".lock") }

func agencyLock(c Call) (string, error) {
	text, _ := json.Marshal(agencyRecord{os.Getpid(), c.now(), "push"}) // numbers, a time and a string
	for range 3 {
		if err := os.MkdirAll(filepath.Dir(c.agencyPath()), 0o755); err != nil {
			return "", err
		}
		err := create(c.agencyPath(), 0o600, 0, text)
		if err == nil {
			return "taken", nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", err
		}
		if !c.agencyStale() {
			return agencyLocked, nil
		}
		c.At("it is stale")
		if err := os.Remove(c.agencyPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return agencyLocked, nil
		}
	}
	return agencyLocked, nil
}

// agencyStale reads who has the lock. One that cannot be read is as old as its file; none here is.
func (c Call) agencyStale() bool {
	text, err := os.ReadFile(c.agencyPath())
	var by agencyRecord
	if err != nil || json.Unmarshal(text, &by) != nil {
		return false
	}
	return !lives(by.PID) || c.now().Sub(by.Created) > 2*time.Hour
}

func agencyUnlock(c Call) (string, error) {
	if err := os.Remove(c.agencyPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return "unlocked", nil
}

func agencyWrite(c Call) (string, error) {
	name := filepath.Join(filepath.Dir(c.agencyPath()), "repo.json")
	if err := replace(name, ".tmp-*", c.Data, 0); err != nil {
		return "", err
	}
	return "written", nil
}
