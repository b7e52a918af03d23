package exporter

import (
	"errors"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
)

// The states of a mount: those of status, and two more.
const (
	serving      = "serving"
	otherRelease = "other_release" // it serves, and its daemon does not understand this exporter
	elsewhere    = "elsewhere"     // it serves, and its daemon cannot be asked from here: a container's, or another user's
)

var states = []string{serving, client.StateDead, client.StateSilent, client.StateForbidden, otherRelease, elsewhere}

// stateOf is what a failure to get metrics says about the mount.
func stateOf(err error) string {
	var f *api.Failure
	switch {
	case client.IsAnswer(err) && errors.As(err, &f) && f.Class == api.ClassUsage:
		return otherRelease
	case client.IsUnseen(err):
		return elsewhere
	}
	return client.StateAfter(err)
}
