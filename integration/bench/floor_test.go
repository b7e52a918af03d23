package main

import (
	"math"
	"testing"
	"time"
)

func TestFloorRowsAreRows(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range floorRows() {
		if _, ok := rowNamed(name); !ok || seen[name] {
			t.Errorf("%q is no row, or there twice", name)
		}
		seen[name] = true
	}
	if len(seen) != 15 {
		t.Errorf("%d rows, want 15", len(seen))
	}
}

// Nobody waits for what the kernel sends in the background.
func TestFloorCountsWhatIsWaitedFor(t *testing.T) {
	waited := waitedFor(map[string]float64{"Lookup": 1, "Create": 1, "Release": 1, "ReleaseDir": 2, "Forget": 3})
	if waited != 2 {
		t.Errorf("%v requests, want 2", waited)
	}
	if got := floor(10*time.Microsecond, waited, 15*time.Microsecond); math.Abs(got-4) > 1e-9 {
		t.Errorf("floor %v, want 4", got)
	}
}

func TestFloorTable(t *testing.T) {
	run := sample()
	run.Rows[0].Row = "stat, cold"
	grid := run.floorGrid("jvsfs")
	if len(grid) != 3 || grid[1][2] != "1.00" || grid[1][3] != "2.00" || grid[1][4] != "9.50" || grid[2][4] != "9.50" {
		t.Errorf("got %q", grid)
	}
}
