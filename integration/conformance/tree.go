package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

const perDirectory = 500

// makeTree makes many empty files, in directories of directories.
func makeTree(dir string, files int) error {
	jobs := make(chan int)
	errs := make(chan error, 4)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			for i := range jobs {
				if err := fillDirectory(dir, i, min(perDirectory, files-i*perDirectory)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i*perDirectory < files && err == nil; i++ {
		select {
		case jobs <- i:
		case err = <-errs:
		}
	}
	close(jobs)
	wg.Wait()
	return err
}

func fillDirectory(dir string, i, files int) error {
	at := filepath.Join(dir, fmt.Sprint("a", i/100), fmt.Sprint("b", i))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for j := range files {
		f, err := os.OpenFile(filepath.Join(at, fmt.Sprint("f", j)), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
