package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs"
)

// StatusTimeout bounds the wait for one daemon, so that a stopped one does not delay the report.
const StatusTimeout = 2 * time.Second

// StatusOfAll asks the daemons at the same time.
func StatusOfAll(ctx context.Context, mounts []*mountinfo.Info) []api.MountStatus {
	all := make([]api.MountStatus, len(mounts))
	var run sync.WaitGroup
	for i, m := range mounts {
		run.Go(func() { all[i] = StatusOf(ctx, m) })
	}
	run.Wait()
	return all
}

// StatusOf never fails. It also reports a mount that does not answer.
func StatusOf(ctx context.Context, m *mountinfo.Info) api.MountStatus {
	ctx, cancel := context.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	st := api.MountStatus{Mountpoint: m.Mountpoint, Source: m.Source, Device: host.DeviceOf(m).String()}
	resp, err := Ask(ctx, m, api.Status{}, nil, nil)
	if err != nil {
		unserved(&st, err)
		return st
	}
	if err := json.Unmarshal(resp.Result, &st); err != nil {
		st.State, st.Detail = "silent", err.Error()
	}
	st.Mountpoint = m.Mountpoint // a bind mount of the same daemon has another
	return st
}

// States of a mount whose daemon has not told its status. A mount is dead only if it has no daemon: the advice
// for a dead mount would end a living one.
const (
	StateDead      = "dead"
	StateSilent    = "silent"
	StateForbidden = "forbidden"
)

// StateAfter is the state of a mount whose daemon could not be asked.
func StateAfter(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return StateSilent
	case errors.Is(err, os.ErrPermission):
		return StateForbidden
	case NobodyThere(err):
		return StateDead
	}
	return StateSilent
}

// unserved says what a failure to get the status means.
func unserved(st *api.MountStatus, err error) {
	st.Detail, st.State = err.Error(), StateAfter(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		st.Detail, st.Next = "its daemon does not answer: it may be stopped", NextOfSilent
	case st.State != StateForbidden, api.AsFailure(err).Class == api.ClassDenied: // another user's mount has an advice
		st.Next = api.AsFailure(err).Next
	}
}

// Crowding names the users of a mount with many descriptors: half of their share or more, so that others may
// notice.
func Crowding(st api.MountStatus) (texts []string, full bool) {
	var stats struct {
		Users     []fusefs.User `json:"users"`
		UserShare int64         `json:"user_share"`
	}
	if json.Unmarshal(st.Statistics, &stats) != nil { // an older daemon, or none
		return nil, false
	}
	for _, u := range stats.Users {
		if u.Descriptors < stats.UserShare/2 {
			continue
		}
		full = full || u.Descriptors >= stats.UserShare
		texts = append(texts, fmt.Sprintf("user %d has %d of the %d descriptors that one may have, %d of them open files", u.UID, u.Descriptors, stats.UserShare, u.Open))
	}
	return texts, full
}
