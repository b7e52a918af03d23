package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

const (
	eventsWait  = 5 * time.Second // of one request; a new daemon is found in between
	eventsPause = time.Second     // before a daemon that cannot be asked is asked again
)

// Follower reads the events of the mount at one place, whichever daemon serves it. Tell is called for each of
// them, in order.
type Follower struct {
	Mountpoint string
	Run        string // whose event Since is; "": of the daemon that is found first
	Since      uint64 // the last event that was seen, 0: none
	Tell       func(api.Event) error
	Locks      bool // also the locks of rules that are taken and released

	locksSince uint64 // of those, as Since

	device   api.Device // of the daemon that answered last
	process  string     // its process
	complete bool       // all of its events were seen
	silent   bool       // that has been told
}

// Events asks once for events.
func Events(ctx context.Context, m *mountinfo.Info, req api.Events) (api.EventsAnswer, error) {
	var a api.EventsAnswer
	c, err := Dial(ctx, m)
	if err != nil {
		return a, err
	}
	defer c.Close()
	resp, err := c.exchange(req, nil, time.Duration(req.WaitMS)*time.Millisecond+api.AnswerTimeout, nil)
	if err == nil {
		err = json.Unmarshal(resp.Result, &a)
	}
	return a, err
}

// FromNowOn skips what has happened until now. An error says that the daemon cannot be asked.
func (f *Follower) FromNowOn(ctx context.Context, m *mountinfo.Info) error {
	a, err := Events(ctx, m, api.Events{Latest: true, Locks: f.Locks})
	if err == nil {
		f.Run, f.Since, f.device, f.locksSince = a.Run, a.Next, host.DeviceOf(m), a.LocksNext
	}
	return err
}

// Follow reads until ctx ends, the mount is gone, or Tell fails.
func (f *Follower) Follow(ctx context.Context) error {
	for ctx.Err() == nil {
		mounts, err := host.ReadMounts()
		if err != nil {
			return err
		}
		m := f.serving(mounts)
		if m == nil {
			return f.tell(f.ended())
		}
		a, err := Events(ctx, m, api.Events{Run: f.Run, Since: f.Since, WaitMS: eventsWait.Milliseconds(), Locks: f.Locks, LocksSince: f.locksSince})
		switch {
		case ctx.Err() != nil:
			err = nil // what was asked while it was interrupted has no meaning
		case err != nil:
			err = f.unanswered(ctx, m, api.AsFailure(err))
		default:
			f.silent, f.device = false, host.DeviceOf(m)
			err = f.answered(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serving is the mount to ask: the one that answered last as long as it is there and has more to tell, else
// the uppermost.
func (f *Follower) serving(mounts host.MountTable) (m *mountinfo.Info) {
	for _, one := range mounts.JVSFS() {
		if one.Mountpoint != f.Mountpoint {
			continue
		}
		if m = one; !f.complete && !f.silent && host.DeviceOf(one) == f.device {
			return one
		}
	}
	return m
}

// unanswered tells once that the daemon cannot be asked, unless the mount is gone.
func (f *Follower) unanswered(ctx context.Context, m *mountinfo.Info, why *api.Failure) error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	now := f.serving(mounts)
	stays := now != nil && host.DeviceOf(now) == host.DeviceOf(m) // it is not gone, and no other one is there
	if stays && !f.silent {
		f.silent = true
		if err := f.tell(api.Event{Kind: api.Silent, Run: f.Run, Reason: why.Message}); err != nil {
			return err
		}
	}
	if stays {
		pause(ctx, eventsPause)
	}
	return nil
}

// answered tells what came, and what did not.
func (f *Follower) answered(ctx context.Context, a api.EventsAnswer) error {
	if f.Run == "" && a.Next < f.Since { // a number that this daemon has not reached
		f.Run = "unknown"
		return nil
	}
	seen := f.Since
	if f.Run != "" && a.Run != f.Run {
		if err := f.tell(f.another(a)); err != nil {
			return err
		}
		seen = 0
	}
	if a.First != 0 {
		if err := f.tell(api.Event{Kind: api.Missed, Run: a.Run, First: seen + 1, Last: a.First - 1,
			Reason: "the daemon does not remember them any more"}); err != nil {
			return err
		}
	}
	if a.LocksMissed != 0 {
		if err := f.tell(api.Event{Kind: api.Missed, Run: a.Run, Reason: fmt.Sprintf("%d locks that were taken or released are not remembered", a.LocksMissed)}); err != nil {
			return err
		}
	}
	f.Run, f.Since, f.complete, f.process, f.locksSince = a.Run, a.Next, a.Over, a.Self, a.LocksNext
	for _, e := range merged(a.Events, a.Locks) {
		if err := f.tell(e); err != nil {
			return err
		}
	}
	if a.Over {
		pause(ctx, eventsPause/5) // the mount is about to go
	}
	return nil
}

// merged puts two lists together by their times. Each keeps its order.
func merged(a, b []api.Event) (all []api.Event) {
	for len(a) > 0 && len(b) > 0 {
		if b[0].At.Before(a[0].At) {
			all, b = append(all, b[0]), b[1:]
		} else {
			all, a = append(all, a[0]), a[1:]
		}
	}
	return append(append(all, a...), b...)
}

// ended says that the mount is gone.
func (f *Follower) ended() api.Event {
	e := api.Event{Kind: api.Ended, Run: f.Run}
	if !f.complete {
		e.Reason = "what its daemon told last may be missing"
	}
	return e
}

// another says that another daemon answers, and whether anything was missed.
func (f *Follower) another(a api.EventsAnswer) api.Event {
	if f.complete && a.After != "" && a.After == f.process {
		return api.Event{Kind: api.Replaced, Run: a.Run, PreviousRun: f.Run, Reason: "another daemon goes on with the mount, and no event is missing"}
	}
	return api.Event{Kind: api.Missed, Run: a.Run, PreviousRun: f.Run, First: f.Since + 1,
		Reason: "another daemon serves the mount now; what the former one told after the last event here is not known"}
}

// tell completes what was found here.
func (f *Follower) tell(e api.Event) error {
	e.Mountpoint = f.Mountpoint // a bind mount of the same daemon has another
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	return f.Tell(e)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
