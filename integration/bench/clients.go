package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

var clientCounts = []int{1, 2, 4, 8, 16}

// scaling is what several clients do together, in operations a second.
type scaling struct {
	Row     string              `json:"row"`
	Clients []int               `json:"clients"`
	Rates   map[string][]spread `json:"operations_per_second"` // by target, then as Clients
}

// crowd is the clients of all targets.
type crowd struct {
	d       *driver
	workers []*worker
}

// scalings measures all rows with each number of clients. The driver holds the lease
// for them: they are its children.
func (d *driver) scalings() ([]scaling, error) {
	if !d.opts.clients {
		return nil, nil
	}
	if err := d.pass(); err != nil {
		return nil, err
	}
	c := crowd{d: d}
	defer c.stop()
	if err := c.start(clientCounts[len(clientCounts)-1]); err != nil {
		return nil, err
	}
	var out []scaling
	for _, r := range d.opts.clientRows {
		s, err := c.scaling(r)
		if err != nil {
			return out, fmt.Errorf("%s: %w", r.name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *crowd) start(n int) error {
	for range n {
		w, err := startWorker(modeClient, c.d.scratch)
		if err != nil {
			return err
		}
		c.workers = append(c.workers, w)
	}
	return nil
}

func (c *crowd) stop() {
	for _, w := range c.workers {
		w.stop()
	}
}

// pass makes the driver the holder.
func (d *driver) pass() error {
	release := func(m *mounted) error { return d.opts.programs.release(m.box.Dir, d.client.pid()) }
	if err := d.jvsfs(release); err != nil {
		return err
	}
	return d.hold(os.Getpid())
}

func (c *crowd) scaling(r row) (scaling, error) {
	s := scaling{Row: r.name, Clients: clientCounts, Rates: map[string][]spread{}}
	for _, m := range c.d.targets {
		if _, _, err := c.all(len(c.workers), m, r, stepBegin); err != nil {
			return s, err
		}
	}
	for _, n := range clientCounts {
		rates, err := c.rates(n, r)
		if err != nil {
			return s, err
		}
		for name, values := range rates {
			s.Rates[name] = append(s.Rates[name], spreadOf(values))
		}
		fmt.Fprintf(c.d.log, "%s: %s, %d\n", c.d.medium.name, r.name, n)
	}
	return s, nil
}

// rates are those of all targets, one for each round.
func (c *crowd) rates(n int, r row) (map[string][]float64, error) {
	out := map[string][]float64{}
	for round := range c.d.opts.rounds {
		for i := range c.d.targets {
			m := c.d.targets[(i+round)%len(c.d.targets)]
			rate, err := c.rate(n, m, r)
			if err != nil {
				return out, err
			}
			out[m.name] = append(out[m.name], rate)
		}
	}
	return out, nil
}

// rate is what n clients do in a second, together.
func (c *crowd) rate(n int, m *mounted, r row) (float64, error) {
	if _, _, err := c.all(n, m, r, stepPrepare); err != nil {
		return 0, err
	}
	ops, took, err := c.all(n, m, r, stepRun)
	return float64(ops) / took.Seconds(), err
}

// all lets n clients do a step at the same time, and waits for the last.
func (c *crowd) all(n int, m *mounted, r row, s step) (ops int, took time.Duration, err error) {
	answers, errs := make([]answer, n), make([]error, n)
	start := time.Now()
	var run sync.WaitGroup
	for i := range n {
		q := request{Row: r.name, Step: s, Box: m.box}
		q.Box.Client = i
		run.Go(func() { answers[i], errs[i] = c.d.call(c.workers[i], q) })
	}
	run.Wait()
	took = time.Since(start)
	for _, a := range answers {
		ops += a.Ops
	}
	return ops, took, errors.Join(errs...)
}

func printScalings(w io.Writer, run mediumRun, write func(io.Writer, [][]string) error) error {
	if len(run.Scaling) == 0 {
		return nil
	}
	head := []string{"on " + run.Medium + ", together", "clients"}
	for _, t := range run.Targets {
		head = append(head, t)
	}
	rows := [][]string{head}
	for _, s := range run.Scaling {
		for i := range s.Clients {
			rows = append(rows, s.line(i, run.Targets))
		}
	}
	fmt.Fprintln(w)
	return write(w, rows)
}

// line gives the rates of native, and the ratios of the others to it: above 1 is slower, as everywhere.
func (s scaling) line(i int, targets []string) []string {
	native := s.Rates[targets[0]][i].Median
	line := []string{s.Row, fmt.Sprint(s.Clients[i]), fmt.Sprintf("%.0f/s", native)}
	for _, t := range targets[1:] {
		r := s.Rates[t]
		line = append(line, fmt.Sprintf("%.2f (%.0f/s, %.2f of one)", native/r[i].Median, r[i].Median, r[i].Median/r[0].Median))
	}
	return line
}
