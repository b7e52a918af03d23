package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// driver runs rows on the targets of one medium.
type driver struct {
	ctx     context.Context
	opts    options
	medium  medium
	scratch string
	log     io.Writer
	targets []*mounted
	client  *worker
	began   time.Time
}

// measure sets everything up on a medium, runs the rows, and takes it down again.
func measure(ctx context.Context, opts options, m medium, scratch string) (run mediumRun, err error) {
	d := &driver{ctx: ctx, opts: opts, medium: m, scratch: scratch, log: os.Stderr, began: time.Now()}
	defer func() { err = errors.Join(err, d.down()) }()
	if err = d.up(&run); err != nil {
		return run, err
	}
	run.Medium = m.name
	for _, t := range d.targets {
		run.Targets = append(run.Targets, t.name)
	}
	return run, d.work(&run)
}

// work fills in what it can. After an error it keeps the earlier measurements.
func (d *driver) work(run *mediumRun) (err error) {
	for _, r := range d.opts.rows {
		if d.opts.budget > 0 && time.Since(d.began) > d.opts.budget {
			run.LeftOut = append(run.LeftOut, r.name+": no time left")
			continue
		}
		res, err := d.row(r)
		if err != nil {
			return err
		}
		run.Rows = append(run.Rows, res)
	}
	if run.Refusals, err = d.refusals(); err != nil {
		return err
	}
	if run.Sessions, err = d.sessions(); err != nil {
		return err
	}
	run.Scaling, err = d.scalings()
	return err
}

func (d *driver) up(run *mediumRun) error {
	for _, t := range d.opts.targets {
		m, err := t.mount(d.opts.programs, d.medium.dir, d.scratch, d.medium.disk)
		if err != nil && t.optional() {
			run.LeftOut = append(run.LeftOut, err.Error())
			continue
		}
		if err != nil {
			return err
		}
		d.targets = append(d.targets, m)
	}
	var err error
	if d.client, err = startWorker(modeClient, d.scratch); err != nil {
		return err
	}
	return d.hold(d.client.pid())
}

// hold gives the leases of jvsfs, where that is a target, to a process.
func (d *driver) hold(pid int) error {
	return d.jvsfs(func(m *mounted) error { return d.opts.programs.hold(m.box.Dir, pid) })
}

// jvsfs does something with each of its mounts.
func (d *driver) jvsfs(do func(m *mounted) error) error {
	for _, m := range d.targets {
		if isJvsfs(m.name) {
			if err := do(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) down() error {
	if d.client != nil {
		d.client.stop()
	}
	var errs []error
	for _, m := range slices.Backward(d.targets) {
		errs = append(errs, m.unmount())
	}
	return errors.Join(append(errs, d.medium.end())...)
}

func (d *driver) target(name string) *mounted {
	for _, m := range d.targets {
		if m.name == name {
			return m
		}
	}
	return nil
}

// row runs one row on all targets. The first round is not measured: it fills caches
// that no row is about, and is where the requests are counted.
func (d *driver) row(r row) (result, error) {
	res := result{Row: r.name, Unit: r.unit, Cells: map[string]*cell{}}
	for _, m := range d.targets {
		res.Cells[m.name] = &cell{}
		if err := d.step(m, r, stepBegin, &res, nil); err != nil {
			return res, err
		}
	}
	for round := range d.opts.rounds + 1 {
		for i := range d.targets {
			m := d.targets[(i+round)%len(d.targets)] // nobody always comes after the same one
			if err := d.once(m, r, round > 0, &res); err != nil {
				return res, err
			}
		}
	}
	res.compare()
	fmt.Fprintf(d.log, "%s: %s\n", d.medium.name, summary(res, d.targets))
	return res, nil
}

func (d *driver) once(m *mounted, r row, measured bool, res *result) error {
	if res.Cells[m.name].Error != "" {
		return nil
	}
	if err := d.step(m, r, stepPrepare, res, nil); err != nil {
		return err
	}
	if !measured && isJvsfs(m.name) {
		return d.counted(m, r, res)
	}
	cpu := m.daemonCPU()
	return d.step(m, r, stepRun, res, func(a answer) {
		if res.Ops = a.Ops; measured {
			res.Cells[m.name].add(a, m.daemonCPU()-cpu)
		}
	})
}

func (d *driver) counted(m *mounted, r row, res *result) error {
	before, err := d.opts.programs.requests(m.box.Dir)
	if err != nil {
		return err
	}
	if err := d.step(m, r, stepRun, res, func(a answer) { res.Ops = a.Ops }); err != nil || res.Ops == 0 {
		return err
	}
	after, err := d.opts.programs.requests(m.box.Dir)
	res.Cells[m.name].Requests = perOperation(before, after, res.Ops)
	return err
}

func (d *driver) call(w *worker, q request) (answer, error) { return w.call(d.ctx, q) }

// step does one step on the client. A target that cannot do the step loses the row. A target that hangs ends
// the run.
func (d *driver) step(m *mounted, r row, s step, res *result, done func(answer)) error {
	a, err := d.call(d.client, request{Row: r.name, Step: s, Box: m.box})
	switch {
	case errors.Is(err, errHangs):
		return err
	case err != nil:
		res.Cells[m.name].Error = err.Error()
		fmt.Fprintf(d.log, "%s on %s: %v\n", r.name, m.name, err)
	case done != nil:
		done(a)
	}
	return nil
}
