package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == modeSpin {
		_ = spinMain()
		return
	}
	os.Exit(m.Run())
}

// What keeps a processor busy ends with its driver, and its time is known meanwhile.
func TestSpinnerEndsWithItsInput(t *testing.T) {
	cmd := exec.Command(os.Args[0], modeSpin)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); cpuOf(cmd.Process.Pid) == 0; { // it is there, and takes time
		if time.Now().After(deadline) {
			t.Error("it takes no time")
			break
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
