package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// client does the work. It is a process of its own, so that it can hold a lease that
// the driver does not.
type client struct{ jobs map[string]job }

func clientMain() error {
	runtime.LockOSThread()
	unix.Umask(0o022)
	c := client{jobs: map[string]job{}}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q request
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(c.answer(q)); err != nil {
			return err
		}
	}
}

func (c *client) answer(q request) answer {
	var a answer
	err := c.do(q, &a)
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (c *client) do(q request, a *answer) (err error) {
	key := fmt.Sprint(q.Row, q.Box.Dir, q.Box.Refused)
	switch q.Step {
	case stepBegin:
		r, ok := rowNamed(q.Row)
		if !ok {
			return fmt.Errorf("no row %q", q.Row)
		}
		c.jobs[key], err = r.begin(&q.Box)
	case stepPrepare:
		err = c.jobs[key].prepare()
	case stepRun:
		err = a.timed(c.jobs[key].run)
	}
	return err
}

// timed keeps the garbage collector out of the time.
func (a *answer) timed(run func() (int, error)) (err error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	cpu, start := ownCPU(), time.Now()
	a.Ops, err = run()
	a.Time, a.CPU = time.Since(start), ownCPU()-cpu
	return err
}
