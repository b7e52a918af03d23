package harness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireFinding demands that doctor finds something, and says how to fix it.
func (m *Mount) RequireFinding(id, text, fix string) {
	m.T.Helper()
	all, _, _ := m.Doctor()
	found := all.Of(id, text)
	require.NotEmpty(m.T, found, "%s, %s in %+v", id, text, all)
	require.NotEqual(m.T, "ok", found[0].Severity)
	require.Contains(m.T, found[0].Fix, fix)
	require.NotEmpty(m.T, found[0].Why)
}

// RequireNoFinding demands that doctor finds nothing of the kind.
func (m *Mount) RequireNoFinding(id, text string) {
	m.T.Helper()
	all, _, _ := m.Doctor()
	require.Empty(m.T, all.Of(id, text))
}

// Finding is a line of doctor --json.
type Finding struct{ ID, Check, Severity, Message, Why, Fix string }

// Findings are what doctor has found.
type Findings []Finding

// Of are the findings with an id that mention a text.
func (f Findings) Of(id, text string) Findings {
	return slices.DeleteFunc(slices.Clone(f), func(one Finding) bool {
		return one.ID != id || !strings.Contains(one.Message, text)
	})
}

// About are the findings of one check that mention a text.
func (f Findings) About(check, text string) Findings {
	return slices.DeleteFunc(slices.Clone(f), func(one Finding) bool {
		return one.Check != check || !strings.Contains(one.Message, text)
	})
}

// Doctor runs doctor --json.
func (m *Mount) Doctor(options ...string) (all Findings, ok bool, exit int) {
	m.T.Helper()
	out, errs, exit := m.CLI(append([]string{"doctor", "--json"}, options...)...)
	all, ok = ReadDoctor(m.T, out+errs)
	return all, ok, exit
}

// ReadDoctor reads what doctor --json has said.
func ReadDoctor(t testing.TB, text string) (all Findings, ok bool) {
	t.Helper()
	var report struct {
		OK       bool
		Findings Findings
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report), "%s", text)
	for _, f := range report.Findings {
		require.Equal(t, f.Severity == "ok", f.Why == "", "%+v", f)
		require.True(t, strings.HasPrefix(f.ID, f.Check+"."), "%+v", f)
	}
	return report.Findings, report.OK
}
