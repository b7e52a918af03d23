package main

import "time"

// report is all that a run found. Its JSON is what --json writes.
type report struct {
	Conditions conditions  `json:"conditions"`
	Media      []mediumRun `json:"media"`
}

// mediumRun is the table of one medium.
type mediumRun struct {
	Medium  string   `json:"medium"`
	Targets []string `json:"targets"`
	Rows    []result `json:"rows"`
	LeftOut []string `json:"left_out,omitempty"` // targets and rows, each with the reason

	Refusals []refusal     `json:"refusals,omitempty"`
	Sessions []sessionCost `json:"sessions,omitempty"`
	Scaling  []scaling     `json:"scaling,omitempty"`
}

// result is one row of the table.
type result struct {
	Row   string           `json:"row"`
	Unit  string           `json:"unit"`
	Ops   int              `json:"ops"` // in each run
	Cells map[string]*cell `json:"cells"`
}

// cell is one target in one row: the times of the rounds, and their ratios to native in the same round.
type cell struct {
	Times []time.Duration `json:"times_ns,omitempty"`
	Ratio spread          `json:"ratio"`
	Plain spread          `json:"plain,omitzero"` // of jvsfs with rules: the ratio to jvsfs without

	CPU      []time.Duration `json:"cpu_ns,omitempty"`    // of the client and the daemon
	Daemon   []time.Duration `json:"daemon_ns,omitempty"` // of the daemon alone
	CPURatio spread          `json:"cpu_ratio"`

	Requests map[string]float64 `json:"requests,omitempty"` // to jvsfs, for each operation

	Error string `json:"error,omitempty"`
}

func (c *cell) add(a answer, daemon time.Duration) {
	c.Times = append(c.Times, a.Time)
	c.CPU, c.Daemon = append(c.CPU, a.CPU+daemon), append(c.Daemon, daemon)
}

// perOp is the median time of one operation.
func (r result) perOp(target string) time.Duration {
	if c := r.Cells[target]; c != nil {
		return perOpOf(c.Times, r.Ops)
	}
	return 0
}

func perOpOf(times []time.Duration, ops int) time.Duration {
	return spreadOf(floats(times)).duration() / time.Duration(max(ops, 1))
}

// compare fills in the ratios once all rounds are through.
func (r result) compare() {
	native := r.Cells["native"]
	if with, without := r.Cells[withRules], r.Cells["jvsfs"]; with != nil && without != nil {
		with.Plain = spreadOf(ratios(with.Times, without.Times))
	}
	for _, c := range r.Cells {
		c.Ratio = spreadOf(ratios(c.Times, native.Times))
		c.CPURatio = spreadOf(ratios(c.CPU, native.CPU))
	}
}

// ratios are round by round: what the machine did to one it did to the other.
func ratios(times, native []time.Duration) []float64 {
	var out []float64
	for i := range min(len(times), len(native)) {
		out = append(out, float64(times[i])/float64(max(native[i], 1)))
	}
	return out
}
