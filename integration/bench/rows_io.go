package main

import (
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"
)

const (
	fileSize = 64 << 20
	// A disk answers a cold random read in a tenth of a millisecond: more of them
	// tell nothing new.
	maxColdReads = 4096
)

var (
	blockSizes = []int{4 << 10, 128 << 10, 1 << 20}
	buffer     = make([]byte, 1<<20)
)

// access is one way through a file: in which steps, in which order, from which cache.
type access struct {
	size         int
	random, cold bool
	writes       bool
}

func accesses(writes bool) []access {
	var out []access
	for _, cold := range []bool{false, true} {
		for _, random := range []bool{false, true} {
			for _, size := range blockSizes {
				out = append(out, access{size: size, random: random, cold: cold, writes: writes})
			}
		}
	}
	return out
}

func (a access) name(verb string) string {
	order, cache := "sequential", "warm"
	if a.random {
		order = "random"
	}
	if a.cold {
		cache = "cold"
	}
	return fmt.Sprintf("%s %s %s, %s", order, verb, sizeText(a.size), cache)
}

func sizeText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// offsets are the places to go to. Each block comes up once in a pass: the second
// read of one would not be cold.
func (a access) offsets() []int64 {
	order := make([]int64, fileSize/a.size)
	for i := range order {
		order[i] = int64(i * a.size)
	}
	if a.random {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

func (a access) passes() int {
	switch {
	case a.cold:
		return 1
	case a.writes && a.size == blockSizes[0]:
		return 2
	}
	return 4
}

// warmOrCold brings the caches into the state that the row is about.
func (a access) warmOrCold(b *box, file string) error {
	if a.cold {
		return b.chill(file)
	}
	if err := b.settle(); err != nil {
		return err
	}
	return readThrough(cstring(b.path(file)))
}

func readThrough(path *byte) error {
	fd, err := rawOpen(path, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer rawClose(fd)
	for off := int64(0); ; {
		n, err := rawPread(fd, buffer, off)
		if n <= 0 || err != nil {
			return err
		}
		off += int64(n)
	}
}

// dataFile makes the file that is read and overwritten. It is not sparse, and its
// blocks are allocated: the rows are about transfers.
func dataFile(b *box) error {
	return b.once("data", func(path string) error {
		data := make([]byte, fileSize)
		r := rand.NewChaCha8([32]byte{})
		_, _ = r.Read(data)
		return os.WriteFile(path, data, 0o644)
	})
}
