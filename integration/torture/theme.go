package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// theme is the kind of operation that a history has more of. If every operation came equally often, some
// situations would stay rare, and a run of an hour would meet too few of them to prove anything.
type theme string

const (
	evenly  theme = "evenly"
	holds   theme = "holds"   // a daemon stops over a write that is past its check, for so long that its lease is taken over
	kills   theme = "kills"   // daemons are killed within the steps of claim, publish, renew and release
	passing theme = "passing" // leases, mounts and roots go from one to another: handovers, offers, replacements, renames
)

var themes = []theme{evenly, holds, kills, passing}

// turns are the themes of consecutive histories, in a cycle, so that a run of some minutes has its share of
// each. Without a lock manager, the proof is about held writes and about the half-done steps of killed daemons.
var turns = map[string][]theme{
	"a": {evenly, passing, kills, holds, passing, evenly, kills, passing, holds, evenly},
	"c": {kills, holds, kills, holds, evenly, kills, holds, kills, holds, passing},
}

func (t *theme) Set(name string) error {
	if !slices.Contains(themes, theme(name)) {
		return fmt.Errorf("no such theme: %s", name)
	}
	*t = theme(name)
	return nil
}

func (t *theme) String() string { return string(*t) }

// themeOf is the theme of a history, by its number. A rule that is broken has a focus of its own.
func (o *options) themeOf(number int) theme {
	switch {
	case o.mutant != "" || o.noFaults:
		return evenly
	case o.theme != "":
		return o.theme
	}
	return turns[o.tier][number%len(turns[o.tier])]
}

// points come before those of every history.
func (t theme) points() []plan.Point {
	switch t {
	case holds:
		return []plan.Point{
			{Prefix: "admitted.Write", Short: 3000, Long: 9000, Stop: 150000, Kill: 300},
			{Prefix: "admitted.", Short: 8000, Long: 15000, Stop: 100000, Kill: 1000},
		}
	case kills:
		return []plan.Point{
			{Prefix: "renew.", Short: 20000, Kill: 60000},
			{Prefix: "publish.", Short: 20000, Kill: 40000},
			{Prefix: "claim.after_publish", Short: 20000, Kill: 40000},
			{Prefix: "claim.", Short: 20000, Kill: 18000},
			{Prefix: "release.", Short: 20000, Kill: 120000},
			{Prefix: "withdraw.", Short: 20000, Kill: 120000},
		}
	}
	return nil
}

// dense is whether a history is about one thing that is to happen as often as there is time for it: then nobody roams, who needs as much of
// a processor as all others.
func (t theme) dense() bool { return t == holds || t == kills }

// alone is whether there is one host only.
func (t theme) alone(rng *rand.Rand) bool {
	switch t {
	case evenly:
		return rng.IntN(5) == 0
	case passing:
		return rng.IntN(2) == 0
	}
	return false
}

// between is how long nothing is done to a host from outside.
func (t theme) between(rng *rand.Rand) time.Duration {
	d := time.Duration(30+rng.IntN(400)) * time.Millisecond
	if t.dense() {
		return 3 * d
	}
	return d
}

func themeNames() string {
	var names []string
	for _, t := range themes {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}
