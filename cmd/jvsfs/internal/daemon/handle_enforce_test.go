package daemon

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// before is a daemon that was replaced, and lives or does not.
type before bool

func (b before) Live() bool                      { return bool(b) }
func (b before) Refuse(what string) *api.Failure { return api.Usagef("%s", what) }

// A switch that lets more through happens only if it is in the audit chain. A stricter one waits for nothing but a replaced daemon,
// through which files may still be written.
func TestWhichSwitchesOfTheModeHappen(t *testing.T) {
	for name, c := range map[string]struct {
		to        gate.Enforce
		audit     error
		before    before
		refused   string
		note      string
		announced int
	}{
		"to less":                            {to: gate.Observing, announced: 1},
		"to less, and it cannot be audited":  {to: gate.Observing, audit: unix.EIO, refused: "input/output error"},
		"to less, beside a replaced daemon":  {to: gate.Observing, before: true, announced: 1},
		"to more":                            {to: gate.ReadOnly, announced: 1},
		"to more, and it cannot be audited":  {to: gate.ReadOnly, audit: unix.EIO, note: "could not be audited", announced: 1},
		"to more, beside a replaced daemon":  {to: gate.ReadOnly, before: true, refused: "the mode is not made stricter"},
		"to the same":                        {to: gate.Enforcing},
		"to none that there is":              {to: "sometimes", refused: "sometimes"},
		"to nothing: it is only shown":       {},
		"shown, and nothing can be audited":  {audit: unix.EIO},
		"shown, beside a replaced daemon":    {before: true},
		"the same, beside a replaced daemon": {to: gate.Enforcing, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			var told []api.Event
			d := &modeSwitch{mode: newEnforceMode(gate.Enforcing), mountpoint: "/no/mount", guards: func() []*gate.Guard { return nil }, predecessors: c.before,
				note: func(e api.Event) { told = append(told, e) }, audit: func(audit.Record) error { return c.audit }, log: zap.NewNop()}
			resp, err := d.answerEnforce(t.Context(), &control.Session{Peer: control.Peer{PID: os.Getpid()}}, api.Enforce{Mode: string(c.to), WaitMS: 1000})
			require.Len(t, told, c.announced)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				require.Equal(t, gate.Enforcing, d.mode.Mode())
				return
			}
			require.NoError(t, err)
			require.Contains(t, resp.Note, c.note)
			var a api.EnforceAnswer
			require.NoError(t, json.Unmarshal(resp.Result, &a))
			require.Equal(t, d.mode.Mode(), a.Enforce)
			require.Equal(t, gate.Enforcing, a.Configured)
			if c.to != "" {
				require.Equal(t, c.to, a.Enforce)
			}
		})
	}
}

func TestOneSwitchOfTheModeAtATime(t *testing.T) {
	d := &modeSwitch{mode: newEnforceMode(gate.Enforcing), mountpoint: "/no/mount", predecessors: before(false)}
	d.switching.Lock()
	_, err := d.answerEnforce(t.Context(), &control.Session{}, api.Enforce{Mode: string(gate.Observing)})
	require.ErrorContains(t, err, "just being switched by somebody else")
}
