package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// play starts the hosts, waits, and ends them.
func (h *history) play(rng *rand.Rand) error {
	stop := new(atomic.Bool)
	watching, err := h.watch(stop)
	if err != nil {
		return err
	}
	var hosts []*runningHost
	for _, cfg := range h.hostConfigs(rng) {
		one, err := startHost(cfg, h.roamer)
		if err != nil {
			stop.Store(true)
			return errors.Join(err, endHosts(hosts), watching())
		}
		hosts = append(hosts, one)
		running.add(h.Base, one)
	}
	time.Sleep(h.length)
	for _, one := range hosts {
		_, _ = io.WriteString(one.in, "quiet\n") // a host that has died is found by its end
	}
	h.awaitProgress()
	err = endHosts(hosts)
	running.remove(h.Base)
	stop.Store(true)
	return errors.Join(err, watching())
}

// watch starts the observers of the backing store. The function that it returns waits for their ends.
func (h *history) watch(stop *atomic.Bool) (wait func() error, err error) {
	var watchers []func() error
	for _, t := range h.trees {
		journal, err := h.openJournal(t)
		if err != nil {
			return nil, err
		}
		watchers = append(watchers, func() error { return t.observe(h.backing(t.place), stop) },
			func() error { return h.unblock(t.place, stop) }, func() error { return journal.read(stop) })
	}
	ended := make(chan error, len(watchers))
	for _, w := range watchers {
		go func() { ended <- w() }()
	}
	return func() error {
		var errs []error
		for range watchers {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}, nil
}

func (h *history) hostConfigs(rng *rand.Rand) []hostConfig {
	patient := rng.IntN(2) == 0
	onFree := []string{"deny", "deny", "acquire"}[rng.IntN(3)]
	if h.onFree != "" {
		onFree = h.onFree
	}
	lacks := h.lacks
	if h.tier == "c" {
		lacks = tierC
	}
	var all []hostConfig
	for n := range h.hosts {
		cfg := hostConfig{Seed: plan.SeedOf(h.seed, uint64(n+1)), Number: n, layout: h.layout, Jvsfs: h.jvsfs, Writers: h.writers, OnFree: onFree,
			Tier: h.tier, Lacks: lacks, Broken: h.mutant != "", WallMS: rng.IntN(h.SkewMS) - h.SkewMS/2, BootMS: rng.IntN(1e9), NoFaults: h.noFaults, Without: h.without, Hosts: h.hosts, Patient: patient || h.focus != "", Focus: h.focus, Theme: h.theme, policy: h.policy}
		if rng.IntN(4) == 0 {
			cfg.WallMS = rng.IntN(801) - 400
		}
		all = append(all, cfg)
	}
	return all
}

// runningHost is a host process.
type runningHost struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out strings.Builder
}

func startHost(cfg hostConfig, roamer *os.File) (*runningHost, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	one := &runningHost{cmd: exec.Command("/proc/self/exe", "host", string(text))}
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL, Setsid: true}
	if roamer != nil {
		one.cmd.ExtraFiles = []*os.File{roamer}
	}
	one.cmd.Stderr = &one.out
	one.cmd.WaitDelay = time.Second
	if one.in, err = one.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return one, one.cmd.Start()
}

func endHosts(hosts []*runningHost) error {
	var errs []error
	for _, one := range hosts {
		_ = one.in.Close()
	}
	for _, one := range hosts {
		kill := time.AfterFunc(time.Minute, func() { _ = one.cmd.Process.Kill() })
		err := one.cmd.Wait()
		kill.Stop()
		if err != nil {
			errs = append(errs, fmt.Errorf("a host: %w\n%s", err, one.out.String()))
		}
	}
	return errors.Join(errs...)
}
