package systems

// af of vibefeld 7b77859 (31 Jan 2026), traced: the ledger's Append and AppendBatch.
//
//	stat DIR (twice)
//	openat ledger.lock O_WRONLY|O_CREAT|O_EXCL 0600   each 10 ms until the time is over
//	write {"agent_id","acquired_at"}, close
//	openat DIR, getdents64, close                      the next number is the highest + 1
//	openat .event-RANDOM.tmp O_RDWR|O_CREAT|O_EXCL 0600, write, fsync, close, fchmodat 0644
//	newfstatat NNNNNN.json, renameat .event-RANDOM.tmp NNNNNN.json
//	openat ledger.lock O_RDONLY, read, close           whose it is: agent_id is the operation, the same for everybody
//	unlinkat ledger.lock
//
// A batch makes all of its temporary files first. When a rename fails it removes the events that it has made.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	afLock   = "ledger.lock"
	afBusy   = "timeout waiting for lock"
	afOne    = "append-operation"
	afSome   = "append-batch-operation"
	afEvents = "[0-9][0-9][0-9][0-9][0-9][0-9].json"
)

func afAppend(c Call) (string, error) {
	if _, err := os.Stat(c.Dir); err != nil {
		return "", err
	}
	if !afTake(c, afOne) {
		return afBusy, nil
	}
	c.At("the lock is taken")
	seq, err := afNext(c.Dir)
	if err != nil {
		return "", err
	}
	temp, err := afTemp(c.Dir, c.Data)
	if err != nil {
		return "", err
	}
	c.At("before the rename")
	if err = afRename(c.Dir, temp, seq); err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	c.At("before the release")
	afRelease(c.Dir, afOne) // af logs that it failed, and says that all is well
	return fmt.Sprint("event ", seq), err
}

// afBatch appends two events. Where Data is "fails", the second temporary file is gone when it is renamed.
func afBatch(c Call) (string, error) {
	if !afTake(c, afSome) {
		return afBusy, nil
	}
	defer afRelease(c.Dir, afSome)
	seq, err := afNext(c.Dir)
	if err != nil {
		return "", err
	}
	var temps [2]string
	for i := range temps {
		if temps[i], err = afTemp(c.Dir, c.Data); err != nil {
			return "", err
		}
	}
	if c.Data == "fails" {
		if err := os.Remove(temps[1]); err != nil {
			return "", err
		}
	}
	if err := afRename(c.Dir, temps[0], seq); err != nil {
		return "", err
	}
	if afRename(c.Dir, temps[1], seq+1) != nil {
		return "rolled back", os.Remove(afName(c.Dir, seq))
	}
	return fmt.Sprint("events ", seq, " and ", seq+1), nil
}

// afTake tries until the time is over. Whatever error it gets, it tries again.
func afTake(c Call, agent string) bool {
	text, _ := json.Marshal(map[string]any{"agent_id": agent, "acquired_at": c.now()}) // strings and a time
	for end := time.Now().Add(c.Patience); ; time.Sleep(poll) {
		if create(filepath.Join(c.Dir, afLock), 0o600, 0, append(text, '\n')) == nil {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func afRelease(dir, agent string) {
	text, err := os.ReadFile(filepath.Join(dir, afLock))
	var found struct {
		Agent string `json:"agent_id"`
	}
	if err == nil && json.Unmarshal(text, &found) == nil && found.Agent == agent {
		_ = os.Remove(filepath.Join(dir, afLock)) // it is logged, no more
	}
}

func afNext(dir string) (int, error) {
	all, err := filepath.Glob(filepath.Join(dir, afEvents))
	last := 0
	for _, name := range all {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.json", &n); err == nil {
			last = max(last, n)
		}
	}
	return last + 1, err
}

func afTemp(dir, event string) (string, error) {
	f, err := os.CreateTemp(dir, ".event-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(event)
	return f.Name(), errors.Join(err, f.Sync(), f.Close(), os.Chmod(f.Name(), 0o644))
}

func afName(dir string, seq int) string { return filepath.Join(dir, fmt.Sprintf("%06d.json", seq)) }

func afRename(dir, temp string, seq int) error { return os.Rename(temp, afName(dir, seq)) }
