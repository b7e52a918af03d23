package lockfile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEveryChangeUnderARuleIsJudgedByTheTable(t *testing.T) {
	hour := Break{Gone: true, After: time.Hour, Unknown: time.Minute}
	for _, row := range []struct {
		name string
		b    Break
		f    Facts
		want Outcome
		why  Why
	}{
		{"nobody holds it", Break{}, Facts{Act: Take, State: Free}, Passes, NoReason},
		{"in a window its holder does all", Break{}, Facts{Act: Take, State: Window, Member: true, Robbed: true}, Passes, NoReason},
		{"in a window its holder changes all", Break{}, Facts{Act: Change, State: Window, Member: true}, Passes, NoReason},
		{"in a window nobody breaks anything", hour, Facts{Act: Take, State: Window, Renewed: 2 * time.Hour, Seen: 2 * time.Hour}, Refused, HeldByOther},
		{"a late release", Break{}, Facts{Act: Take, State: Free, Robbed: true}, Refused, RobbedBefore},
		{"the holder changes it", Break{}, Facts{Act: Change, State: Held, Member: true, Lives: true}, Renews, NoReason},
		{"the holder gives it up", Break{}, Facts{Act: Take, State: Held, Member: true, Lives: true}, Releases, NoReason},
		{"the holder gives it up late", hour, Facts{Act: Take, State: Held, Member: true, Lives: true, Renewed: 2 * time.Hour}, Releases, NoReason},
		{"a living holder's", Break{}, Facts{Act: Take, State: Held, Lives: true}, Refused, HeldByOther},
		{"a living holder's is changed", Break{Gone: true}, Facts{Act: Change, State: Held, Lives: true}, Refused, HeldByOther},
		{"a dead holder's stays", Break{}, Facts{Act: Take, State: Held}, Refused, NotYet},
		{"a dead holder's may be broken", Break{Gone: true}, Facts{Act: Take, State: Held}, Breaks, NoReason},
		{"a living holder's is too old", hour, Facts{Act: Take, State: Held, Lives: true, Renewed: time.Hour + 1}, Breaks, NoReason},
		{"a living holder's is not too old yet", hour, Facts{Act: Take, State: Held, Lives: true, Renewed: time.Hour}, Refused, HeldByOther},
		{"who was robbed does not break it", hour, Facts{Act: Take, State: Held, Lives: true, Robbed: true, Renewed: 2 * time.Hour}, Refused, RobbedBefore},
		{"who was robbed breaks a dead one's", hour, Facts{Act: Take, State: Held, Robbed: true}, Breaks, NoReason},
		{"who was robbed leaves a dead one's that stays", Break{After: time.Hour}, Facts{Act: Take, State: Held, Robbed: true, Renewed: 2 * time.Hour}, Refused, RobbedBefore},
		{"who was robbed and holds it again", hour, Facts{Act: Take, State: Held, Member: true, Lives: true, Robbed: true}, Releases, NoReason},
		{"an unknown one stays", Break{Gone: true, After: 1}, Facts{Act: Take, State: Unknown, Seen: 9 * time.Hour}, Refused, NotYet},
		{"an unknown one in its time", hour, Facts{Act: Take, State: Unknown, Seen: time.Minute}, Breaks, NoReason},
		{"an unknown one before its time", hour, Facts{Act: Take, State: Unknown, Seen: time.Minute - 1}, Refused, NotYet},
		{"an unknown one by who was robbed", hour, Facts{Act: Take, State: Unknown, Seen: time.Hour, Robbed: true}, Refused, RobbedBefore},
	} {
		got, why := Judge(row.b, row.f)
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.why, why, row.name)
	}
}

// Whatever the rule says: a living holder's lock goes only by its own hand or by its age, and who was robbed
// never takes a successor's.
func TestNobodyTakesALivingHoldersLock(t *testing.T) {
	ages := []time.Duration{0, time.Minute, 2 * time.Hour}
	for _, b := range []Break{{}, {Gone: true}, {After: time.Hour}, {Unknown: time.Minute}, {true, time.Hour, time.Minute}} {
		for bits := range 1 << 5 {
			for _, age := range ages {
				f := Facts{Act: Act(bits & 1), State: State(bits >> 1 % 3), Member: bits&8 != 0, Lives: bits&16 != 0, Robbed: bits&4 != 0, Renewed: age, Seen: age}
				got, why := Judge(b, f)
				require.Equal(t, got == Refused, why != NoReason)
				if f.State == Held && f.Lives && !f.Member && (b.After == 0 || age <= b.After) {
					require.Equal(t, Refused, got, "%+v %+v", b, f)
				}
				if f.State == Held && f.Lives && f.Robbed && !f.Member {
					require.Equal(t, Refused, got, "%+v %+v", b, f)
				}
			}
		}
	}
}
