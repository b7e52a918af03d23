package main

import (
	"errors"
	"io"
	"os"
	"runtime"
)

// modeSpin is a process that keeps one processor busy until its standard input ends.
const modeSpin = "spin"

func spinMain() error {
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(ended) }()
	for n := 0; ; n++ {
		if n%(1<<20) != 0 {
			continue
		}
		select {
		case <-ended:
			return nil
		default:
		}
	}
}

// loaded is a medium beside which every processor is busy.
func loaded(open func(work string) (medium, error)) func(work string) (medium, error) {
	return func(work string) (medium, error) {
		m, err := open(work)
		if err != nil {
			return m, err
		}
		var spinners []*worker
		end := m.end
		m.name += ", loaded"
		m.end = func() error {
			for _, s := range spinners {
				s.stop()
			}
			return end()
		}
		for range runtime.NumCPU() {
			s, err := startWorker(modeSpin, work)
			if err != nil {
				return medium{}, errors.Join(err, m.end())
			}
			spinners = append(spinners, s)
		}
		return m, nil
	}
}
