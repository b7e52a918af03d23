package systems

// entwurf 9e14df5 (8 Aug 2026), traced: the dispatch lock of a garden.
//
//	mkdir DIR
//	openat GID.lock O_WRONLY|O_CREAT|O_EXCL|O_TRUNC 0666, write {pid, hostname, nonce, ...}, close: it is acquired
//	on EEXIST: openat GID.lock O_RDONLY, read, close
//	           kill PID 0, where the host's name is the own one     another answer than ESRCH: target-locked
//	           openat GID.lock.reclaim O_WRONLY|O_CREAT|O_EXCL|O_TRUNC 0666
//	           openat GID.lock O_RDONLY, read, close                the nonce must be the same
//	           unlink GID.lock
//	           openat GID.lock O_WRONLY|O_CREAT|O_EXCL|O_TRUNC 0666, write, close
//	           close the marker, unlink GID.lock.reclaim
//	to release: openat GID.lock O_RDONLY, read, close: the nonce must be the own one; unlink GID.lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// entwurfLocked is the answer where somebody has the lock, or may have it.
const entwurfLocked = "target-locked"

type entwurfClaim struct {
	Garden  string    `json:"gardenId"`
	PID     int       `json:"pid"`
	Host    string    `json:"hostname"`
	Created time.Time `json:"createdAt"`
	Nonce   string    `json:"nonce"`
}

func (c Call) entwurfPath() string { return filepath.Join(c.Dir, c.What+".lock") }

func entwurfAcquire(c Call) (string, error) {
	taken, err := c.entwurfCreate()
	if taken || err != nil {
		return "acquired", err
	}
	was, found := c.entwurfRead()
	if !found || was.Host != entwurfHost || lives(was.PID) {
		return entwurfLocked, nil // an empty one, too: it may be half written
	}
	c.At("it is dead")
	return c.entwurfReclaim(was)
}

// entwurfHost is the name of the host: that of each container of an image is the same.
const entwurfHost = "host"

func (c Call) entwurfReclaim(was entwurfClaim) (string, error) {
	marker, err := os.OpenFile(c.entwurfPath()+".reclaim", os.O_CREATE|os.O_EXCL|os.O_TRUNC|os.O_WRONLY, 0o666)
	if errors.Is(err, os.ErrExist) {
		return entwurfLocked, nil
	}
	if err != nil {
		return "", err
	}
	answer, err := c.entwurfAnew(was)
	return answer, errors.Join(err, marker.Close(), os.Remove(marker.Name()))
}

// entwurfAnew runs while the marker is there.
func (c Call) entwurfAnew(was entwurfClaim) (string, error) {
	c.At("the marker is taken")
	if is, found := c.entwurfRead(); !found || is.Nonce != was.Nonce {
		return entwurfLocked, nil
	}
	if err := os.Remove(c.entwurfPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if taken, err := c.entwurfCreate(); !taken {
		return entwurfLocked, err
	}
	return "acquired", nil
}

func (c Call) entwurfCreate() (taken bool, err error) {
	f, err := os.OpenFile(c.entwurfPath(), os.O_CREATE|os.O_EXCL|os.O_TRUNC|os.O_WRONLY, 0o666)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.At("it is created")
	text, _ := json.Marshal(entwurfClaim{c.What, os.Getpid(), entwurfHost, c.now(), c.entwurfNonce()}) // strings, numbers, a time
	return true, writeAndClose(f, append(text, '\n'))
}

// entwurfNonce is another for each process: the pid alone may be that of one in another namespace.
func (c Call) entwurfNonce() string { return fmt.Sprint(c.Data, os.Getpid()) }

func (c Call) entwurfRead() (was entwurfClaim, found bool) {
	text, err := os.ReadFile(c.entwurfPath())
	return was, err == nil && json.Unmarshal(text, &was) == nil
}

func entwurfRelease(c Call) (string, error) {
	if was, found := c.entwurfRead(); !found || was.Nonce != c.entwurfNonce() {
		return "not-owned", nil
	}
	return "released", os.Remove(c.entwurfPath())
}
