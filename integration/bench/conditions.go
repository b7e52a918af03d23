package main

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// conditions say what the figures hold for.
type conditions struct {
	Kernel string    `json:"kernel"`
	CPUs   int       `json:"cpus"`
	Rounds int       `json:"rounds"`
	When   time.Time `json:"when"`
}

func currentConditions(rounds int) conditions {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return conditions{unix.ByteSliceToString(u.Release[:]), runtime.NumCPU(), rounds, time.Now().UTC().Truncate(time.Second)}
}

func (c conditions) String() string {
	return fmt.Sprintf("Linux %s, %d processors, median of %d rounds", c.Kernel, c.CPUs, c.Rounds)
}
