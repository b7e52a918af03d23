package history

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The judge finds what it is for.
func TestHistoriesAreJudged(t *testing.T) {
	say := func(tokensAndHosts ...string) (lines []string) {
		for i, s := range tokensAndHosts {
			token, err := strconv.ParseUint(s[2:], 10, 64)
			require.NoError(t, err)
			lines = append(lines, Record{token, s[:2], i}.String())
		}
		return lines
	}
	of := func(stored []string, acknowledged ...string) History {
		h := New()
		h.Stored = stored
		for _, line := range acknowledged {
			r, ok := Parse(line)
			require.True(t, ok)
			h.Acknowledged[r] = true
		}
		return h
	}
	good := say("h11", "h11", "h22", "h13")
	require.Equal(t, Verdict{Acknowledged: 4, Epochs: 3, Changes: 2}, of(good, good...).Judge())
	require.Equal(t, Verdict{Acknowledged: 3, Unacknowledged: 1, Epochs: 3, Changes: 2}, of(good, good[1:]...).Judge())
	late := say("h11", "h22", "h11")
	told := func(h History) History { h.ReportedBy(t, `{"Token":1}`); return h }
	require.Equal(t, Verdict{Acknowledged: 2, Unacknowledged: 1, Epochs: 2, Changes: 1, Late: 1, Reported: 1, Torn: 1},
		told(of(append(late, "0000"), late[:2]...)).Judge())
	over := []string{good[0], say("h11", "h11", "h11")[2], Record{2, "h2", 4}.String()}
	require.Equal(t, Verdict{Acknowledged: 3, Unacknowledged: 1, Epochs: 2, Changes: 1, Over: 1, Reported: 1},
		told(of(over, good[0], Record{2, "h2", 3}.String(), over[2])).Judge())
	alone := []string{good[0], say("h11", "h11")[1], Record{3, "h2", 5}.String()}
	toldAt := func(h History, offset string) History { h.ReportedBy(t, `{"Token":1,"Offset":`+offset+`}`); return h }
	first, second := Record{2, "h2", 3}.String(), Record{2, "h2", 4}.String()
	require.Equal(t, Verdict{Acknowledged: 3, Unacknowledged: 1, Epochs: 2, Changes: 1, Over: 1, Reported: 1},
		toldAt(of(alone, alone[0], first, alone[2]), "32").Judge(), "the only record of its token")
	require.Equal(t, 1, toldAt(of(alone, alone[0], first, alone[2]), "64").Judge().Lost, "the late write was reported for another line")
	require.Equal(t, 1, toldAt(of(alone, alone[0], first, second, alone[2]), "32").Judge().Lost, "a line covers one record")
	hole := Lines(good[0] + "\n" + strings.Repeat("\x00", 2*size) + good[1] + "\n")
	require.Equal(t, Verdict{Acknowledged: 2, Epochs: 1, Torn: 2}, of(hole, good[:2]...).Judge(), "a hole of two records")
	for name, c := range map[string]struct {
		stored, acknowledged []string
		says                 string
	}{
		"late":         {late, late[:2], "no late write was reported"},
		"over":         {over, []string{good[0], Record{2, "h2", 3}.String(), over[2]}, "is lost; at its place"},
		"lost":         {good[:3], good, "is lost"},
		"twice":        {append(good[:4:4], good[3]), good, "is stored twice"},
		"stale":        {late, late, "a stale record was acknowledged"},
		"two holders":  {say("h11", "h21"), say("h11", "h21"), "was acknowledged to h1"},
		"numbers back": {[]string{good[1], good[0]}, good[:2], "is behind number 1"},
	} {
		require.Contains(t, strings.Join(of(c.stored, c.acknowledged...).Judge().Wrong, "\n"), c.says, name)
	}
}
