package lease

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

func TestAHeadIsHeldExpiredOrStealableByTheTable(t *testing.T) {
	t0 := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	p := record.DefaultPolicy()
	rec := func(change ...func(*record.Record)) Head {
		r := &record.Record{LastRenewedAt: t0, LeaseExpiresAt: t0.Add(30 * time.Second), MaxClockSkewMS: 2000, StealGraceMS: 1000}
		for _, f := range change {
			f(r)
		}
		return Head{Token: 3, Record: r}
	}
	const ns = time.Nanosecond
	for name, c := range map[string]struct {
		after time.Duration
		head  Head
		want  State
	}{
		"never claimed":        {0, Head{}, Free},
		"released":             {0, rec(func(r *record.Record) { r.Released = true }), Free},
		"unreadable":           {time.Hour, Head{Token: 3, Unreadable: errors.New("torn")}, Unreadable},
		"fresh":                {0, rec(), Held},
		"at expiry":            {30 * time.Second, rec(), Held},
		"past expiry":          {30*time.Second + ns, rec(), Expired},
		"at the end of grace":  {33 * time.Second, rec(), Expired},
		"past grace":           {33*time.Second + ns, rec(), Stealable},
		"years later":          {9999 * time.Hour, rec(), Stealable},
		"record's policy wins": {34 * time.Second, rec(func(r *record.Record) { r.StealGraceMS = 5000 }), Expired},
		"own policy wins":      {32 * time.Second, rec(func(r *record.Record) { r.StealGraceMS, r.MaxClockSkewMS = 0, 0 }), Expired},
		"within the bound":     {-2 * time.Second, rec(), Held},
		"from the future":      {-2*time.Second - ns, rec(), Skewed},
		"expired but from the future": {0, rec(func(r *record.Record) {
			r.LastRenewedAt, r.LeaseExpiresAt = t0.Add(time.Hour), t0.Add(-time.Hour)
		}), Skewed},
	} {
		j := Judge(t0.Add(c.after), c.head, p)
		require.Equal(t, c.want, j.State, "%s: %+v", name, j)
		require.NotEmpty(t, j.Reason, name)
		require.NotContains(t, j.State.String(), "(", name)
	}
}

func TestAPolicyWithoutOrderOrBoundsIsRefused(t *testing.T) {
	require.NoError(t, record.DefaultPolicy().Validate())
	for _, change := range []func(*record.Policy){
		func(p *record.Policy) { p.LeaseDuration = 0 },
		func(p *record.Policy) { p.RenewInterval = p.LeaseDuration },
		func(p *record.Policy) { p.RenewInterval = 0 },
		func(p *record.Policy) { p.MaxClockSkew = -1 },
		func(p *record.Policy) { p.StealGrace = time.Microsecond },
		func(p *record.Policy) { p.LeaseDuration = 1 << 62 },
	} {
		p := record.DefaultPolicy()
		change(&p)
		require.Error(t, p.Validate(), "%+v", p)
	}
}

// Whatever a record says, it is judged.
func FuzzJudge(f *testing.F) {
	b, err := anyRecord().Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		if r, err := record.Parse(b, "main"); err == nil {
			_ = Judge(time.Now(), Head{Token: r.FencingToken, Record: r}, record.DefaultPolicy())
		}
	})
}
