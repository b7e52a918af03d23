package main

import "time"

// The driver and the client talk in lines of JSON over pipes.

type step string

const (
	stepBegin   step = "begin"
	stepPrepare step = "prepare"
	stepRun     step = "run"
)

type request struct {
	Row  string `json:"row"`
	Step step   `json:"step"`
	Box  box    `json:"box"`
}

type answer struct {
	Time  time.Duration `json:"time"`
	CPU   time.Duration `json:"cpu"` // of the client and its tools
	Ops   int           `json:"ops"`
	Error string        `json:"error,omitempty"`
}
