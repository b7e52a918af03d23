package systems

// jit 8ffea40c (3 Dec 2025), read from its source and not traced: crates/jit/src/storage, with fs4 for the flocks.
//
//	lock:   open LOCK O_RDWR|O_CREAT 0666, flock LOCK_EX|LOCK_NB (readers LOCK_SH|LOCK_NB) each 10 ms until the time is over
//	save:   lock .index.lock, read index.json, lock issues/ID.lock
//	        write issues/ID.json.tmp O_WRONLY|O_CREAT|O_TRUNC, rename it to issues/ID.json
//	        where it is new: write index.json.tmp, rename it to index.json
//	        flock LOCK_UN and close, of the lock first
//	list:   lock .index.lock (shared), read index.json, then for each: lock issues/ID.lock (shared), read issues/ID.json
//	event:  lock .events.lock, open events.jsonl O_WRONLY|O_CREAT|O_APPEND, write
//	delete: both locks, unlink issues/ID.json, unlink issues/ID.lock while it is locked, index.json as above

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// jitBusy is the answer where somebody has the lock.
const jitBusy = "lock timeout"

var errJitBusy = errors.New(jitBusy)

type jitIndex struct {
	IDs []string `json:"all_ids"`
}

// jitLocks are held until they are let go, the last one first.
type jitLocks []*os.File

func (l *jitLocks) take(c Call, name string, how int) error {
	f, err := os.OpenFile(filepath.Join(c.Dir, name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	for end := time.Now().Add(c.Patience); ; time.Sleep(poll) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			*l = append(*l, f)
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			_ = f.Close() // nothing was written
			return errJitBusy
		}
	}
}

func (l *jitLocks) drop() {
	for _, f := range slices.Backward(*l) {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // the close does it as well
		_ = f.Close()                             // nothing was written
	}
}

// jitAnswer turns the time that is over into an answer.
func jitAnswer(answer string, err error) (string, error) {
	if errors.Is(err, errJitBusy) {
		return jitBusy, nil
	}
	return answer, err
}

func jitInit(c Call) (string, error) {
	err := os.MkdirAll(filepath.Join(c.Dir, "issues"), 0o755)
	for name, text := range map[string]string{"index.json": `{"all_ids":[]}`, "gates.json": `{}`} {
		err = errors.Join(err, c.jitWrite(name, text))
	}
	f, e := os.Create(filepath.Join(c.Dir, "events.jsonl"))
	if e != nil {
		return "", errors.Join(err, e)
	}
	return "initialized", errors.Join(err, f.Close())
}

func (c Call) jitWrite(name, text string) error {
	path := filepath.Join(c.Dir, name)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (c Call) jitIndex() (x jitIndex, err error) {
	text, err := os.ReadFile(filepath.Join(c.Dir, "index.json"))
	if err != nil {
		return x, err
	}
	return x, json.Unmarshal(text, &x)
}

func (c Call) jitWriteIndex(x jitIndex) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return c.jitWrite("index.json", string(text))
}

func jitSave(c Call) (string, error) {
	var held jitLocks
	defer held.drop()
	return jitAnswer("saved", c.jitSave(&held))
}

func (c Call) jitSave(held *jitLocks) error {
	if err := held.take(c, ".index.lock", unix.LOCK_EX); err != nil {
		return err
	}
	x, err := c.jitIndex()
	if err != nil {
		return err
	}
	c.At("the index is read")
	if err := held.take(c, "issues/"+c.What+".lock", unix.LOCK_EX); err != nil {
		return err
	}
	if err := c.jitWrite("issues/"+c.What+".json", c.Data); err != nil || slices.Contains(x.IDs, c.What) {
		return err
	}
	x.IDs = append(x.IDs, c.What)
	return c.jitWriteIndex(x)
}

func jitList(c Call) (string, error) {
	var held jitLocks
	defer held.drop()
	if err := held.take(c, ".index.lock", unix.LOCK_SH); err != nil {
		return jitAnswer("", err)
	}
	x, err := c.jitIndex()
	for _, id := range x.IDs {
		err = errors.Join(err, c.jitRead(id))
	}
	return strings.Join(x.IDs, " "), err
}

func (c Call) jitRead(id string) error {
	var held jitLocks
	defer held.drop()
	if err := held.take(c, "issues/"+id+".lock", unix.LOCK_SH); err != nil {
		return err
	}
	_, err := os.ReadFile(filepath.Join(c.Dir, "issues", id+".json"))
	return err
}

func jitEvent(c Call) (string, error) {
	var held jitLocks
	defer held.drop()
	if err := held.take(c, ".events.lock", unix.LOCK_EX); err != nil {
		return jitAnswer("", err)
	}
	f, err := os.OpenFile(filepath.Join(c.Dir, "events.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return "", err
	}
	return "appended", writeAndClose(f, []byte(c.Data+"\n"))
}

func jitDelete(c Call) (string, error) {
	var held jitLocks
	defer held.drop()
	return jitAnswer("deleted", c.jitDelete(&held))
}

func (c Call) jitDelete(held *jitLocks) error {
	err := held.take(c, ".index.lock", unix.LOCK_EX)
	if err == nil {
		err = held.take(c, "issues/"+c.What+".lock", unix.LOCK_EX)
	}
	if err == nil {
		err = os.Remove(filepath.Join(c.Dir, "issues", c.What+".json"))
	}
	if err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(c.Dir, "issues", c.What+".lock")) // jit does not look
	x, err := c.jitIndex()
	if err != nil {
		return err
	}
	x.IDs = slices.DeleteFunc(x.IDs, func(id string) bool { return id == c.What })
	return c.jitWriteIndex(x)
}
