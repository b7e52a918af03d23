package systems

// JVS before it removed its locks (5d53e36^, 20 Feb 2026), traced: the lock of a worktree.
//
//	acquire: openat .jvs/worktrees/W/lock.json O_WRONLY|O_CREAT|O_EXCL 0644, write, fsync
//	         .session by a temporary file (below), close
//	renew:   openat lock.json O_RDONLY, read, close          the nonce and the time are judged
//	         openat .jvs-tmp-RANDOM O_RDWR|O_CREAT|O_EXCL 0600, write, fchmod 0644, fsync, close
//	         newfstatat lock.json, renameat .jvs-tmp-RANDOM lock.json, openat its directory, fsync, close
//	steal:   as renew, where the time is over, with another nonce and the token + 1; then .session
//	release: openat lock.json O_RDONLY, read, close          the nonce is judged
//	         unlinkat lock.json, unlinkat .session
//
// The nonce is kept by the caller; here it is Data, which the stories make another for each holder.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const jvsLease = 30 * time.Second

type jvsRecord struct {
	Worktree string    `json:"worktree_name"`
	Nonce    string    `json:"holder_nonce"`
	Session  string    `json:"session_id"`
	Acquired time.Time `json:"acquired_at"`
	Expires  time.Time `json:"expires_at"`
	Token    int64     `json:"fencing_token"`
}

func (c Call) jvsPath(name string) string {
	return filepath.Join(c.Dir, ".jvs", "worktrees", c.What, name)
}

func (c Call) jvsNew(token int64) jvsRecord {
	return jvsRecord{c.What, c.Data, "session of " + c.Data, c.now(), c.now().Add(jvsLease), token}
}

func (r jvsRecord) text() []byte {
	text, _ := json.MarshalIndent(r, "", "  ") // strings, times and a number
	return text
}

func (r jvsRecord) answer() string { return fmt.Sprint("token ", r.Token) }

func jvsAcquire(c Call) (string, error) {
	if err := os.MkdirAll(c.jvsPath(""), 0o755); err != nil {
		return "", err
	}
	f, err := os.OpenFile(c.jvsPath("lock.json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		_, err := c.jvsRead()
		return "E_LOCK_CONFLICT", err
	}
	if err != nil {
		return "", err
	}
	r := c.jvsNew(1)
	_, err = f.Write(r.text())
	return r.answer(), errors.Join(err, f.Sync(), c.jvsSession(r), f.Close())
}

func (c Call) jvsSession(r jvsRecord) error {
	return replace(c.jvsPath(".session"), ".jvs-tmp-*", r.Session, durably)
}

func (c Call) jvsRead() (r jvsRecord, err error) {
	text, err := os.ReadFile(c.jvsPath("lock.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func jvsRenew(c Call) (string, error) {
	r, err := c.jvsRead()
	if err != nil {
		return "", err
	}
	if r.Nonce != c.Data || c.now().After(r.Expires) {
		return "E_LOCK_NOT_HELD", nil
	}
	c.At("the record is read")
	r.Expires = c.now().Add(jvsLease)
	return "renewed, " + r.answer(), replace(c.jvsPath("lock.json"), ".jvs-tmp-*", string(r.text()), durably)
}

func jvsSteal(c Call) (string, error) {
	was, err := c.jvsRead()
	if err != nil {
		return "", err
	}
	if !c.now().After(was.Expires) {
		return "E_LOCK_CONFLICT", nil
	}
	c.At("the record is read")
	r := c.jvsNew(was.Token + 1)
	if err := replace(c.jvsPath("lock.json"), ".jvs-tmp-*", string(r.text()), durably); err != nil {
		return "", err
	}
	return r.answer(), c.jvsSession(r)
}

func jvsRelease(c Call) (string, error) {
	r, err := c.jvsRead()
	if err != nil {
		return "", err
	}
	if r.Nonce != c.Data {
		return "E_LOCK_NOT_HELD", nil
	}
	return "released", errors.Join(os.Remove(c.jvsPath("lock.json")), os.Remove(c.jvsPath(".session")))
}

// jvsWrite is a write that is fenced as the program fences: by the token alone. Data is TOKEN:TEXT.
func jvsWrite(c Call) (string, error) {
	token, text, _ := strings.Cut(c.Data, ":")
	r, err := c.jvsRead()
	if err != nil {
		return "", err
	}
	if fmt.Sprint(r.Token) != token {
		return "E_FENCING_MISMATCH", nil
	}
	return "written", os.WriteFile(filepath.Join(c.Dir, "worktrees", c.What, "payload"), []byte(text), 0o644)
}
