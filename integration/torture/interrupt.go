package main

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// underWay is the hosts that run, by the directory of their history.
type underWay struct {
	mu    sync.Mutex
	hosts map[string][]*runningHost
}

var running = underWay{hosts: map[string][]*runningHost{}}

func (u *underWay) add(base string, one *runningHost) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hosts[base] = append(u.hosts[base], one)
}

func (u *underWay) remove(base string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.hosts, base)
}

// tidyOnSignal leaves nothing behind when the test is ended before its time.
var tidyOnSignal = sync.OnceFunc(func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	go func() {
		<-signals
		running.mu.Lock()
		var all sync.WaitGroup
		for _, hosts := range running.hosts {
			all.Go(func() { _ = endHosts(hosts) }) // in peace: see freeTheDead
		}
		all.Wait()
		for base := range running.hosts {
			_ = os.RemoveAll(base)
		}
		os.Exit(130)
	}()
})
