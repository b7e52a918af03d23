package main

import (
	"fmt"
	"io"
	"time"
)

// refusal compares what a call costs that is refused with one that is admitted.
type refusal struct {
	Call     string          `json:"call"`
	Admitted []time.Duration `json:"admitted_ns"` // of one call, by round
	Refused  []time.Duration `json:"refused_ns"`
	Ratio    spread          `json:"ratio"`
}

// refusals measures all of them on jvsfs. The stranger is a process that has no tie
// to the holder.
func (d *driver) refusals() ([]refusal, error) {
	m := d.target("jvsfs")
	if m == nil || d.opts.noRefused {
		return nil, nil
	}
	stranger, err := startWorker(modeClient, d.scratch)
	if err != nil {
		return nil, err
	}
	defer stranger.stop()
	var out []refusal
	for _, r := range refusedRows() {
		one, err := d.refusal(m, r, stranger)
		if err != nil {
			return out, fmt.Errorf("refused %s: %w", r.name, err)
		}
		out = append(out, one)
	}
	return out, nil
}

func (d *driver) refusal(m *mounted, r row, stranger *worker) (refusal, error) {
	out := refusal{Call: r.name}
	pair, err := d.pairOf(m, r, stranger)
	if err != nil {
		return out, err
	}
	var ratios []float64
	for range d.opts.rounds {
		refused, admitted, err := pair.round()
		if err != nil {
			return out, err
		}
		out.Refused, out.Admitted = append(out.Refused, refused), append(out.Admitted, admitted)
		ratios = append(ratios, float64(refused)/float64(admitted))
	}
	out.Ratio = spreadOf(ratios)
	return out, nil
}

// pair is one call, made by the holder and by a stranger.
type pair struct {
	d                 *driver
	admitted, refused request
	by                *worker // whom it is refused
	lost              bool    // because a lease was lost since the descriptor was opened
}

func (d *driver) pairOf(m *mounted, r row, stranger *worker) (pair, error) {
	p := pair{d: d, by: stranger, lost: r.name == lostHandle}
	if p.lost {
		p.by = d.client
	}
	p.admitted = request{Row: r.name, Box: m.box, Step: stepBegin}
	p.refused = p.admitted
	p.refused.Box.Refused = true
	if _, err := d.call(d.client, p.admitted); err != nil {
		return p, err
	}
	_, err := d.call(p.by, p.refused)
	return p, err
}

// round makes the refused calls first: they must find what the admitted ones take away.
func (p pair) round() (refused, admitted time.Duration, err error) {
	if err = p.ready(); err != nil {
		return
	}
	if refused, err = p.run(p.by, p.refused); err != nil {
		return
	}
	admitted, err = p.run(p.d.client, p.admitted)
	return
}

// ready lets the lease go and takes it again between the open of the descriptor that
// is to be refused and that of the other.
func (p pair) ready() error {
	if p.lost {
		p.refused.Step = stepPrepare
		if _, err := p.d.call(p.by, p.refused); err != nil {
			return err
		}
		if err := p.d.again(p.refused.Box.Dir); err != nil {
			return err
		}
	}
	p.admitted.Step = stepPrepare
	_, err := p.d.call(p.d.client, p.admitted)
	return err
}

func (d *driver) again(dir string) error {
	if err := d.opts.programs.release(dir, d.client.pid()); err != nil {
		return err
	}
	return d.opts.programs.hold(dir, d.client.pid())
}

func (p pair) run(w *worker, q request) (time.Duration, error) {
	q.Step = stepRun
	a, err := p.d.call(w, q)
	return a.Time / time.Duration(max(a.Ops, 1)), err
}

func printRefusals(w io.Writer, all []refusal, write func(io.Writer, [][]string) error) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"refused by jvsfs", "admitted", "refused", "refused to admitted"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.Call, timeText(spreadOf(floats(r.Admitted)).duration()), timeText(spreadOf(floats(r.Refused)).duration()),
			ratioOf(r.Ratio),
		})
	}
	fmt.Fprintln(w)
	return write(w, rows)
}
