package lockfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var ofJVS = RecordOf{Nonce: "holder_nonce", Token: "fencing_token", Expires: "expires_at"}

func TestARecordIsReadOnlyWhole(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	require.Equal(t, Record{true, "n", 7, noon}, ofJVS.Read([]byte(`{"fencing_token": 7, "holder_nonce": "n", "expires_at": "2026-01-01T12:00:00Z", "x": []}`)))
	for _, text := range []string{
		"", "{}", "[]", "7", `{"fencing_token": 7, "holder_nonce": "n"}`, `{"fencing_token": "7", "holder_nonce": "n", "expires_at": "2026-01-01T12:00:00Z"}`,
		`{"fencing_token": 7, "holder_nonce": "", "expires_at": "2026-01-01T12:00:00Z"}`, `{"fencing_token": 7, "holder_nonce": "n", "expires_at": "noon"}`,
		`{"fencing_token": 7, "holder_nonce": "n", "expires_at": "2026-01-01T12:00:00Z"`, strings.Repeat(" ", MaxRecord+1),
	} {
		require.False(t, ofJVS.Read([]byte(text)).Readable, fmt.Sprintf("%.60s", text))
	}
}

func TestEveryChangeOfARecordIsJudgedByTheTable(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := Record{true, "a", 3, noon}
	own, member := Facts{Act: Change, State: Held, Member: true, Lives: true}, Facts{Act: Take, State: Held, Member: true, Lives: true}
	other, take := Facts{Act: Change, State: Held, Lives: true}, Facts{Act: Take, State: Held, Lives: true}
	for _, row := range []struct {
		name      string
		b         Break
		f         Facts
		at        time.Duration // after noon
		now, next Record
		want      Outcome
		why       Why
	}{
		{"in a window its holder does all", Break{}, Facts{Act: Change, State: Window, Member: true}, -1, now, Record{}, Passes, NoReason},
		{"in a window nobody takes over", Break{}, Facts{Act: Take, State: Window}, time.Hour, now, Record{}, Refused, HeldByOther},
		{"a renewal", Break{}, own, -1, now, Record{true, "a", 3, noon.Add(time.Hour)}, Renews, NoReason},
		{"a renewal by who is not seen", Break{}, other, time.Hour, now, Record{true, "a", 3, noon.Add(time.Hour)}, Renews, NoReason},
		{"a renewal with another token", Break{}, own, -1, now, Record{true, "a", 4, noon.Add(time.Hour)}, Refused, NoRenewal},
		{"a takeover before its time", Break{}, other, 0, now, Record{true, "b", 4, noon.Add(time.Hour)}, Refused, NoRenewal},
		{"a takeover in its time", Break{}, other, 1, now, Record{true, "b", 4, noon.Add(time.Hour)}, Breaks, NoReason},
		{"a takeover within the tolerance", Break{After: time.Minute}, other, time.Minute, now, Record{true, "b", 4, noon}, Refused, NoRenewal},
		{"a takeover after the tolerance", Break{After: time.Minute}, other, time.Minute + 1, now, Record{true, "b", 4, noon}, Breaks, NoReason},
		{"a takeover with the same token", Break{}, other, time.Hour, now, Record{true, "b", 3, noon}, Refused, NoRenewal},
		{"a takeover that jumps", Break{}, other, time.Hour, now, Record{true, "b", 5, noon}, Refused, NoRenewal},
		{"something else", Break{}, own, time.Hour, now, Record{}, Refused, NoRenewal},
		{"the holder removes it", Break{}, member, -1, now, Record{}, Releases, NoReason},
		{"the holder removes it when it has expired", Break{}, member, 1, now, Record{}, Releases, NoReason},
		{"another removes it", Break{}, take, -1, now, Record{}, Refused, HeldByOther},
		{"another removes an expired one", Break{}, take, 1, now, Record{}, Breaks, NoReason},
		{"who was robbed removes an expired one", Break{}, Facts{Act: Take, State: Held, Lives: true, Robbed: true}, 1, now, Record{}, Refused, RobbedBefore},
		{"the age of a record does not count", Break{After: time.Minute}, Facts{Act: Take, State: Held, Lives: true, Renewed: time.Hour}, 0, now, Record{}, Refused, HeldByOther},
		{"an empty one, by its maker", Break{}, own, 0, Record{}, Record{true, "a", 1, noon}, Renews, NoReason},
		{"an empty one, by another", Break{}, other, time.Hour, Record{}, Record{true, "b", 1, noon}, Refused, HeldByOther},
		{"one that was left", Break{Gone: true}, Facts{Act: Take, State: Held}, -1, now, Record{}, Breaks, NoReason},
	} {
		got, why := JudgeRecord(row.b, row.f, noon.Add(row.at), row.now, row.next)
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.why, why, row.name)
	}
}
