package process

import (
	"bytes"
	"time"
)

// SystemCall returns the system call that a thread waits in: its number and arguments. A thread that
// has just asked may not sleep yet.
func SystemCall(thread uint32) [][]byte {
	for pause := 50 * time.Microsecond; pause < time.Second; pause *= 2 { // on a busy machine it takes a while
		text, err := readSmall(procFile(int(thread), "syscall"))
		if err != nil {
			return nil
		}
		if args := bytes.Fields(text); len(args) != 1 || string(args[0]) != "running" {
			return args
		}
		time.Sleep(pause)
	}
	return nil
}
