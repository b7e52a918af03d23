package daemon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

func TestParseRequest(t *testing.T) {
	op, req, err := (&Daemon{}).operations().Parse([]byte(`{"version":1,"op":"acquire","path":"main/x","pid":7,"wait_ms":1000}` + "\n"))
	require.NoError(t, err)
	require.Equal(t, "acquire", op.Name)
	require.Equal(t, api.Acquire{Taking: api.Taking{Where: api.Where{Path: "main/x"}, Process: api.Process{PID: 7}, WaitMS: 1000}}, req)
}

func TestParseRequestRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":           "",
		"no JSON":           "hello",
		"two values":        `{"version":1,"op":"ping"}{"version":1,"op":"ping"}`,
		"unknown field":     `{"version":1,"op":"ping","uid":0}`,
		"unknown operation": `{"version":1,"op":"format"}`,
		"a field of others": `{"version":1,"op":"status","path":"main"}`,
		"other version":     `{"version":2,"op":"ping"}`,
		"no version":        `{"op":"ping"}`,
		"negative pid":      `{"version":1,"op":"acquire","pid":-1}`,
		"huge pid":          `{"version":1,"op":"acquire","pid":99999999}`,
		"pid overflow":      `{"version":1,"op":"acquire","pid":99999999999999999999}`,
		"negative wait":     `{"version":1,"op":"acquire","wait_ms":-1}`,
		"endless wait":      `{"version":1,"op":"acquire","wait_ms":9223372036854775807}`,
		"an endless wait":   `{"version":1,"op":"events","wait_ms":86400000}`,
		"a long run":        `{"version":1,"op":"events","run":"` + strings.Repeat("a", 100) + `"}`,
		"negative since":    `{"version":1,"op":"refusals","since_ms":-1}`,
		"endless since":     `{"version":1,"op":"refusals","since_ms":9223372036854775807}`,
		"climbing path":     `{"version":1,"op":"explain","path":"main/../.."}`,
		"absolute path":     `{"version":1,"op":"explain","path":"/etc"}`,
		"dot":               `{"version":1,"op":"explain","path":"./main"}`,
		"NUL":               `{"version":1,"op":"explain","path":"a\u0000b"}`,
		"long path":         `{"version":1,"op":"explain","path":"` + strings.Repeat("a", 5000) + `"}`,
		"long purpose":      `{"version":1,"op":"acquire","purpose":"` + strings.Repeat("a", 2000) + `"}`,
		"no mode":           `{"version":1,"op":"enforce","mode":"sometimes"}`,
		"long mode":         `{"version":1,"op":"enforce","mode":"` + strings.Repeat("a", 100) + `"}`,
		"long host":         `{"version":1,"op":"handover","host":"` + strings.Repeat("a", 300) + `"}`,
		"an endless window": `{"version":1,"op":"quiesce","path":"main","lasts_ms":86400000}`,
		"negative window":   `{"version":1,"op":"quiesce","path":"main","lasts_ms":-1}`,
		"too long":          `{"version":1,"op":"ping"}` + strings.Repeat(" ", api.MaxRequest),
		"deep":              strings.Repeat("[", 60000),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := (&Daemon{}).operations().Parse([]byte(line))
			require.ErrorIs(t, err, api.ErrRequest)
		})
	}
}

// A client sends what the table has, and the table reads what a client sends.
func TestTheTableReadsWhatClientsSend(t *testing.T) {
	for _, req := range []api.Body{
		api.Ping{}, api.Status{}, api.Metrics{}, api.Config{}, api.Refusals{}, api.Doctor{Repair: true}, api.Retire{}, api.Retired{}, api.Unmount{Mount: 3}, api.Leave{}, api.Enforce{},
		api.Explain{}, api.BreakRule{Instance: "r{x=1}", Tenure: 3}, api.OpenRule{LastsMS: 1000, Purpose: "sh"}, api.CloseRule{Window: 3}, api.LookAtLock{}, api.Acquire{Watch: true}, api.Steal{Token: 3}, api.Renew{}, api.Release{}, api.Watch{}, api.Handover{Host: "h"}, api.Events{Run: "r", Since: 3, WaitMS: 5},
		api.Quiesce{Where: api.Where{Path: "main"}, WaitMS: 5, LastsMS: 7, Command: "tar"},
	} {
		line, err := api.Encode(req)
		require.NoError(t, err)
		op, got, err := (&Daemon{}).operations().Parse(line)
		require.NoError(t, err, string(line))
		require.Equal(t, req, got)
		require.Equal(t, req.Op(), op.Name)
	}
	require.Len(t, (&Daemon{}).operations(), 24)
}

// Whoever changes leases is let in by somebody's leave, and only reading is for everybody.
func TestEveryRequestThatChangesLeasesNeedsALeave(t *testing.T) {
	for name, op := range (&Daemon{}).operations() {
		require.NotZero(t, op.Who, name)
		if op.Who == lockop.Anybody {
			require.Equal(t, control.ChangesNothing, op.Change, name)
		}
	}
}

// What commands of releases before this one send for operations whose shape has not changed.
func TestOlderCommandsAreServed(t *testing.T) {
	for _, line := range []string{
		`{"version":1,"op":"ping"}`,
		`{"version":1,"op":"refusals","since_ms":1000,"session":true,"stands":true,"path":"main","pid":7}`,
		`{"version":1,"op":"acquire","path":"main","pid":7,"start":9,"explicit":true,"scope":"tree","purpose":"make","wait_ms":5,"steal":true,"watch":true}`,
		`{"version":1,"op":"steal","path":"main","pid":7,"force":true,"fencing_token":4}`,
		`{"version":1,"op":"watch","path":"main","pid":7,"start":9,"explicit":true,"fencing_token":4}`,
		`{"version":1,"op":"release","path":"main","pid":7,"start":9,"explicit":true,"fencing_token":4}`,
		`{"version":1,"op":"umount"}`,
		`{"version":1,"op":"umount","mount":31,"mountpoint":"/srv"}`,
		`{"version":1,"op":"doctor","repair":true,"force":true}`,
		`{"version":1,"op":"enforce","mode":"observe","wait_ms":30000}`,
		`{"version":1,"op":"handover","path":"main","pid":7,"scope":"session","purpose":"x","host":"h","wait_ms":5}`,
		`{"version":1,"op":"retire","device":"0:51"}`,
	} {
		_, _, err := (&Daemon{}).operations().Parse([]byte(line + "\n"))
		require.NoError(t, err, line)
	}
}
